import CloudKitModel
import Events
import JSON
import Time

/// The record, subscription, device or badge that an ingest command is about. A newer command on the same subject
/// replaces an older one.
struct CommandSubject: Hashable, Sendable {
    private let kind: String
    private let names: [ExactText?]

    /// - Parameter json: An event. The result is nil if the event is no command about a record, a subscription, a
    ///   device or a badge.
    init?(_ json: JSONValue) {
        guard let type = json[.type]?.string else { return nil }
        let place = [json[.container]?.exact, json[.environment]?.exact]
        switch type {
        case "record.save", "record.delete":
            guard let record = json[.record] else { return nil }
            let owner = json[.owner]?.exact
            let zone = record[.zoneID]?[.zoneName]?.exact ?? "_defaultZone"
            let zoneOwner = CommandSubject.owner(ofZone: record[.zoneID], in: owner)
            kind = "record"
            names = place + [json[.database]?.exact, owner, zone, zoneOwner, record[.recordName]?.exact]
        case "subscription.save", "subscription.delete":
            kind = "subscription"
            let id = (json[.subscription]?[.subscriptionID] ?? json[.subscriptionID])?.exact
            names = place + [json[.user]?.exact, id]
        case "device.register", "device.unregister":
            (kind, names) = ("device", place + [json[.user]?.exact, json[.device]?.exact])
        case "badge.set": (kind, names) = ("badge", place + [json[.user]?.exact, json[.topic]?.exact])
        default: return nil
        }
    }

    /// The owner of a zone of a shared database; nil if the owner of the database owns the zone.
    private static func owner(ofZone zoneID: JSONValue?, in databaseOwner: ExactText?) -> ExactText? {
        guard let owner = zoneID?[.ownerRecordName] ?? zoneID?["ownerName"], owner.exact != databaseOwner,
            !owner.equals(ZoneID.currentUser), !owner.equals(ZoneID.defaultOwner)
        else { return nil }
        return owner.exact
    }

    /// Equal for commands with the same content, even if their members are in another order.
    static func fingerprint(_ command: JSONValue) -> Int { command.canonical.hashValue }
}

/// The newest command on a subject.
struct NewestCommand: Sendable {
    let sequence: UInt64
    let time: Instant
    let fingerprint: Int
}

/// The newest commands and redrives in the changes log that may make a dead letter obsolete.
struct CommandHistory {
    private(set) var newest: [CommandSubject: NewestCommand] = [:]
    /// The sequence of the newest redrive of a push to a device.
    private(set) var redrives: [RedrivenPush: UInt64] = [:]

    struct RedrivenPush: Hashable {
        let push: EventPlace
        let user, device: ExactText?
    }

    init(_ letters: [DeadLetter], in log: String, _ progress: (UInt64) -> Void) throws {
        let subjects = Set(letters.compactMap { $0.rejectedEvent?.subject })
        // If no letter has a subject, only redrives matter, so the scan skips most other lines.
        let required: [RequiredValue] = subjects.isEmpty ? [.text(ExactText(Member.redriveOf.description))] : []
        try LogScan.events(in: log, from: .epoch, containing: required) { event in
            progress(UInt64(event.line.count))
            record(event, subjects)
        }
    }

    private mutating func record(_ event: LogScan.Event, _ subjects: Set<CommandSubject>) {
        if let former = event.json[.redriveOf], let place = EventPlace(former) {
            let push = RedrivenPush(push: place, user: event.json[.user]?.exact, device: event.json[.device]?.exact)
            redrives[push] = event.sequence
        } else if let subject = CommandSubject(event.json), subjects.contains(subject) {
            newest[subject] = NewestCommand(
                sequence: event.sequence, time: event.now, fingerprint: CommandSubject.fingerprint(event.json))
        }
    }

    /// Adds the redrive to a letter and, if the letter is a rejected command, the newest command on the same subject.
    func complete(_ letter: inout DeadLetter) {
        switch letter.content {
        case .push:
            letter.newestRedrive = redrives[.init(push: letter.source, user: letter.user, device: letter.device)]
        case .event(var event):
            event.newest = event.subject.flatMap { newest[$0] }
            letter.content = .event(event)
            if let newest = event.newest, newest.fingerprint == event.fingerprint, newest.time > letter.time {
                letter.newestRedrive = newest.sequence
            }
        }
    }
}
