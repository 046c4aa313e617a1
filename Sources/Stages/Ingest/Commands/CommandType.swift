import CloudKitModel
import Events
import JSON

/// The types of commands that ingest accepts.
enum CommandType: CaseIterable {
    case recordSave, recordDelete, recordsModify, zoneSave, zoneDelete, subscriptionSave, subscriptionDelete,
        deviceRegister, deviceUnregister, badgeSet, pushRedrive

    private static let words: [StaticString] = [
        EventName.recordSave, EventName.recordDelete, CommandName.recordsModify, EventName.zoneSave,
        EventName.zoneDelete, EventName.subscriptionSave, EventName.subscriptionDelete, EventName.deviceRegister,
        EventName.deviceUnregister, EventName.badgeSet, EventName.pushRedrive,
    ]

    /// - Throws: `member.missing`, `member.kind`, `word.unknown`.
    @inline(__always)
    init(of command: JSONValue) throws(ModelError) {
        let type = try command.required(.type)
        let index = try under(.type) { () throws(ModelError) in
            try type.expectWord(CommandType.words, "a command's type")
        }
        self = CommandType.allCases[index]
    }

    /// - Throws: `member.unknown`.
    @inline(__always)
    func checkKeys(of command: JSONValue) throws(ModelError) {
        switch self {
        case .recordSave: try command.expectKeys(CommandType.saveKeys, of: "record.save")
        case .recordDelete: try command.expectKeys(CommandType.deleteKeys, of: "record.delete")
        case .recordsModify: try command.expectKeys(CommandType.modifyKeys, of: CommandName.recordsModify)
        case .zoneSave: try command.expectKeys(CommandType.zoneKeys, of: "zone.save")
        case .zoneDelete: try command.expectKeys(CommandType.zoneKeys, of: "zone.delete")
        case .subscriptionSave: try command.expectKeys(CommandType.subscriptionKeys, of: "subscription.save")
        case .subscriptionDelete: try command.expectKeys(CommandType.subscriptionIDKeys, of: "subscription.delete")
        case .deviceRegister: try command.expectKeys(CommandType.deviceKeys, of: "device.register")
        case .deviceUnregister: try command.expectKeys(CommandType.deviceNameKeys, of: "device.unregister")
        case .badgeSet: try command.expectKeys(CommandType.badgeKeys, of: "badge.set")
        case .pushRedrive: try command.expectKeys(CommandType.redriveKeys, of: "push.redrive")
        }
    }

    // The keys are in the order in which commands usually list their members, so that a lookup ends early.
    private static let common: [Member] = [.type, .container, .environment]
    private static let saveKeys =
        common + [.database, .owner, .origin, .record, .change, .before, .time, .participants, .request]
    /// Includes `recordType`, so that an exported log can be sent again: ingest itself adds this member.
    private static let deleteKeys = saveKeys + [.recordType]
    private static let modifyKeys = common + [.database, .owner, .origin, .request, .operations, .time]
    private static let zoneKeys = common + [.database, .owner, .zoneID, .request, .time]
    private static let subscriptionKeys = common + [.database, .user, .subscription, .time, .request]
    private static let subscriptionIDKeys = common + [.database, .user, .subscriptionID, .time, .request]
    private static let deviceKeys = common + [.user, .device, .transport, .token, .topic, .time, .request]
    private static let deviceNameKeys = common + [.user, .device, .time, .request]
    private static let badgeKeys = common + [.user, .topic, .badge, .time]
    private static let redriveKeys = common + [.user, .device, .redriveOf, .push, .time]
}
