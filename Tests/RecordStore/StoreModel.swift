import CloudKitModel

@testable import RecordStore

/// The content of a store after a history, in plain dictionaries.
struct StoreModel {
    struct Record: Hashable {
        /// The sequence of the event that created the record.
        var made: UInt64
        /// The sequence of the newest save or delete.
        var sequence: UInt64
        var created: RecordStamp
        var modified: RecordStamp
        /// Nil for a deleted record.
        var saved: Saved?
        var type: String
    }

    struct Saved: Hashable {
        var fields: String
        var targets: Set<String>
        var assets: Set<String>
        /// Targets that were deleted while this record referred to them, and that were not created again.
        var broken: Set<String> = []
    }

    struct Zone {
        /// The sequence of the event that created the zone.
        var made: UInt64
        /// The sequence of the zone's newest change.
        var changed: UInt64
        var records: [String: Record] = [:]
    }

    struct Database {
        var zones: [ZoneKey: Zone] = [:]
        var deletedZones: [ZoneKey: UInt64] = [:]
    }

    var databases: [DatabaseID: Database] = [:]
    var subscriptions: [AccountID: [DatabaseScope: [String: (sequence: UInt64, body: String)]]] = [:]
    var devices: [AccountID: [String: String]] = [:]
    var users: Set<AccountID> = []

    mutating func apply(_ change: RandomChange, _ sequence: UInt64, milliseconds: Int64) {
        switch change {
        case .save(let record): save(record, sequence, milliseconds)
        case .delete(let database, let zone, let name, let type):
            insertUser(database.owner, database)
            delete(database, zone, name, type, sequence, milliseconds)
        case .saveZone(let database, let zone):
            insertUser(database.owner, database)
            make(zone, database, sequence)
        case .deleteZone(let database, let zone):
            guard databases[database]?.zones.removeValue(forKey: zone) != nil else { return }
            databases[database]?.deletedZones[zone] = sequence
        case .subscribe(let account, let scope, let id, let number):
            users.insert(account)
            subscriptions[account, default: [:]][scope, default: [:]][id] = (
                sequence, RandomChange.subscription(id, number)
            )
        case .unsubscribe(let account, let scope, let id):
            users.insert(account)
            subscriptions[account]?[scope]?[id] = nil
        case .register(let account, let name, let number):
            users.insert(account)
            devices[account, default: [:]][name] = "t\(number)"
        case .unregister(let account, let name):
            users.insert(account)
            devices[account]?[name] = nil
        case .other: return
        }
    }

    private mutating func insertUser(_ user: String?, _ database: DatabaseID) {
        guard let user else { return }
        users.insert(AccountID(container: database.container, environment: database.environment, user: user))
    }

    private mutating func make(_ zone: ZoneKey, _ database: DatabaseID, _ sequence: UInt64) {
        guard databases[database]?.zones[zone] == nil else { return }
        databases[database, default: Database()].zones[zone] = Zone(made: sequence, changed: sequence)
        databases[database]?.deletedZones[zone] = nil
    }

    private mutating func save(_ record: RandomChange.Record, _ sequence: UInt64, _ milliseconds: Int64) {
        let database = record.database
        insertUser(database.owner, database)
        insertUser(record.user, database)
        make(record.zone, database, sequence)
        let stamp = RecordStamp(
            milliseconds: milliseconds, user: record.user ?? database.owner, device: record.device)
        var saved = Saved(fields: record.fields, targets: Set(record.targets), assets: Set(record.assets))
        guard var zone = databases[database]?.zones[record.zone] else { return }
        var new = Record(
            made: sequence, sequence: sequence, created: stamp, modified: stamp, saved: saved, type: record.type)
        if let old = zone.records[record.name], let before = old.saved, old.type == record.type {
            (new.made, new.created) = (old.made, old.created)
            saved.broken = before.broken.intersection(saved.targets)
            new.saved = saved
        } else {
            for name in zone.records.keys { zone.records[name]?.saved?.broken.remove(record.name) }
        }
        zone.records[record.name] = new
        zone.changed = sequence
        databases[database]?.zones[record.zone] = zone
    }

    private mutating func delete(
        _ database: DatabaseID, _ key: ZoneKey, _ name: String, _ type: String?, _ sequence: UInt64,
        _ milliseconds: Int64
    ) {
        guard var zone = databases[database]?.zones[key], var record = zone.records[name], record.saved != nil,
            type == nil || type == record.type
        else { return }
        (record.saved, record.sequence) = (nil, sequence)
        record.modified = RecordStamp(milliseconds: milliseconds, user: database.owner, device: nil)
        zone.records[name] = record
        for (other, value) in zone.records where value.saved?.targets.contains(name) == true {
            zone.records[other]?.saved?.broken.insert(name)
        }
        zone.changed = sequence
        databases[database]?.zones[key] = zone
    }
}
