import CloudKitModel
import TestSupport

@testable import RecordStore

/// A change in a history. ``line`` is its event.
enum RandomChange: Sendable {
    struct Record: Sendable {
        var database: DatabaseID
        var zone: ZoneKey
        var name: String
        var type: String
        var number: Int
        /// The names of the referenced records, which are in the same zone.
        var targets: [String] = []
        var assets: [String] = []
        /// The user of the save's origin; nil for a save without an origin.
        var user: String?
        /// The device of the save's origin.
        var device: String?
    }

    case save(Record)
    case delete(DatabaseID, ZoneKey, String, type: String?)
    case saveZone(DatabaseID, ZoneKey)
    case deleteZone(DatabaseID, ZoneKey)
    case subscribe(AccountID, DatabaseScope, String, number: Int)
    case unsubscribe(AccountID, DatabaseScope, String)
    case register(AccountID, String, number: Int)
    case unregister(AccountID, String)
    case other
}

/// Makes random histories, in which a few names occur often and in every database.
struct RandomHistory {
    var random: Seeded

    static let zones = [
        ZoneKey.defaultZone, ZoneKey(name: "Notes"), ZoneKey(name: "Notes2"), ZoneKey(name: "Notes", owner: "_bob"),
    ]
    static let names = ["a", "b", "c", "d", "e", "f", "g"]
    static let users = ["_alice", "_bob"]
    static let assets = ["A1", "A2", "A3"]

    static let databases: [DatabaseID] = {
        var all: [DatabaseID] = []
        for container in ["iCloud.a", "iCloud.b"] {
            for environment in [ContainerEnvironment.development, .production] {
                all.append(DatabaseID(container: container, environment: environment, scope: .public, owner: nil))
                for scope in [DatabaseScope.private, .shared] {
                    all += users.map {
                        DatabaseID(container: container, environment: environment, scope: scope, owner: $0)
                    }
                }
            }
        }
        return all
    }()

    static var accounts: [AccountID] {
        databases.compactMap { database in
            guard database.scope == .private, let user = database.owner else { return nil }
            return AccountID(container: database.container, environment: database.environment, user: user)
        }
    }

    /// The databases of this history. They are only a few, so that each gets many changes.
    private let drawnDatabases: [DatabaseID]

    init(_ seed: UInt64) {
        random = Seeded(seed)
        drawnDatabases = Array(Self.databases.shuffled(using: &random).prefix(4))
    }

    mutating func change() -> RandomChange {
        let database = random.one(of: drawnDatabases)
        let zone = random.one(of: Self.zones(of: database))
        switch random.below(20) {
        case 0..<10: return .save(record(database, zone))
        case 10..<14:
            let type = random.isOneIn(3) ? random.one(of: ["T", "U"]) : nil
            return .delete(database, zone, random.one(of: Self.names), type: type)
        case 14...15 where database.scope != .public && !zone.isDefault:
            return .saveZone(database, zone)
        case 16 where database.scope != .public && !zone.isDefault: return .deleteZone(database, zone)
        case 17: return subscription()
        case 18: return device()
        default: return .other
        }
    }

    static func zones(of database: DatabaseID) -> [ZoneKey] {
        switch database.scope {
        case .public: [.defaultZone]
        case .private: Array(zones.prefix(3))
        case .shared: zones
        }
    }

    private mutating func record(_ database: DatabaseID, _ zone: ZoneKey) -> RandomChange.Record {
        var record = RandomChange.Record(
            database: database, zone: zone, name: random.one(of: Self.names),
            type: random.isOneIn(6) ? "U" : "T", number: random.below(5))
        if random.isOneIn(2) { record.targets = [random.one(of: Self.names), random.one(of: Self.names)] }
        if random.isOneIn(3) { record.assets = [random.one(of: Self.assets)] }
        if random.isOneIn(2) { record.user = random.one(of: Self.users) }
        if record.user != nil, random.isOneIn(2) { record.device = "phone" }
        return record
    }

    private mutating func subscription() -> RandomChange {
        let account = random.one(of: Self.accounts)
        let (scope, id) = (random.one(of: DatabaseScope.allCases), random.one(of: ["s1", "s2"]))
        return random.isOneIn(3)
            ? .unsubscribe(account, scope, id)
            : .subscribe(account, scope, id, number: random.below(9))
    }

    private mutating func device() -> RandomChange {
        let (account, name) = (random.one(of: Self.accounts), random.one(of: ["phone", "pad"]))
        return random.isOneIn(3) ? .unregister(account, name) : .register(account, name, number: random.below(9))
    }
}

// MARK: - Events

extension RandomChange {
    var line: String {
        switch self {
        case .save(let record): record.line
        case .delete(let database, let zone, let name, let type):
            #"{"type":"record.delete",\#(database.members),"record":{"recordName":"\#(name)"\#(zone.member)"#
                + #"},"change":"delete"\#(type.map { #","recordType":"\#($0)""# } ?? "")}"#
        case .saveZone(let database, let zone):
            #"{"type":"zone.save",\#(database.members)\#(zone.member)}"#
        case .deleteZone(let database, let zone):
            #"{"type":"zone.delete",\#(database.members)\#(zone.member)}"#
        case .subscribe(let account, let scope, let id, let number):
            #"{"type":"subscription.save",\#(account.members(scope)),"subscription":\#(Self.subscription(id, number))}"#
        case .unsubscribe(let account, let scope, let id):
            #"{"type":"subscription.delete",\#(account.members(scope)),"subscriptionID":"\#(id)"}"#
        case .register(let account, let name, let number):
            #"{"type":"device.register",\#(account.members(nil)),"device":"\#(name)","transport":"apns","#
                + #""token":"t\#(number)","topic":"com.example"}"#
        case .unregister(let account, let name):
            #"{"type":"device.unregister",\#(account.members(nil)),"device":"\#(name)"}"#
        case .other: #"{"type":"badge.set","container":"iCloud.a","user":"_carol","badge":1}"#
        }
    }

    static func subscription(_ id: String, _ number: Int) -> String {
        #"{"subscriptionID":"\#(id)","subscriptionType":"database","number":\#(number)}"#
    }
}

extension RandomChange.Record {
    var fields: String {
        var fields = [#""n":{"value":\#(number),"type":"INT64"}"#]
        let references = targets.map { #"{"recordName":"\#($0)","action":"DELETE_SELF"}"# }.joined(separator: ",")
        if !targets.isEmpty { fields.append(#""refs":{"value":[\#(references)],"type":"REFERENCE_LIST"}"#) }
        for asset in assets { fields.append(#""file":{"value":{"fileChecksum":"\#(asset)"},"type":"ASSETID"}"#) }
        return "{\(fields.joined(separator: ","))}"
    }

    fileprivate var line: String {
        let device = device.map { #","device":"\#($0)""# } ?? ""
        let origin = user.map { #","origin":{"user":"\#($0)"\#(device)}"# } ?? ""
        return #"{"type":"record.save",\#(database.members)\#(origin),"record":{"recordName":"\#(name)","recordType":"#
            + #""\#(type)"\#(zone.member),"fields":\#(fields)},"change":"update"}"#
    }
}

extension ZoneKey {
    /// The `zoneID` member of an event or of its record, with a comma before it; empty for the default zone.
    fileprivate var member: String {
        let owner = owner.map { #","ownerRecordName":"\#($0)""# } ?? ""
        return isDefault ? "" : #","zoneID":{"zoneName":"\#(name)"\#(owner)}"#
    }
}

extension AccountID {
    fileprivate func members(_ scope: DatabaseScope?) -> String {
        let database = scope.map { #","database":"\#($0.word)""# } ?? ""
        return #""container":"\#(container)","environment":"\#(environment.word)"\#(database),"user":"\#(user)""#
    }
}
