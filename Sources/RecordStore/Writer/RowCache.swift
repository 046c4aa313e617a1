import CloudKitModel
import Events
import GRDB
import JSON

/// A zone that is not deleted.
struct ZoneRow {
    let id: Int64
    let database: Int64
    let isShared: Bool
    /// Name and owner, each with a zero byte behind it: the start of a ``RecordTarget``.
    let targetPrefix: [UInt8]
}

/// Finds or makes the rows of the databases, zones and accounts that events name. Remembers the rows, because most
/// events name the same few rows.
struct RowCache {
    // Millions of users may each have a database. A full cache forgets all rows, because tracking which rows were used
    // last would cost more.
    private static let countMax = 100_000

    private var databases: [[UInt8]: Int64] = [:]
    private var zones: [[UInt8]: ZoneRow] = [:]
    private var accounts: [[UInt8]: Int64] = [:]
    private var key: [UInt8] = []

    /// The zone that an event names; made if it does not exist or is deleted.
    ///
    /// - Parameter sequence: The sequence of the event, which becomes the ID of a new zone.
    mutating func zone(_ zoneID: JSONValue?, of event: JSONValue, madeBy sequence: UInt64, _ db: Database) throws
        -> ZoneRow
    {
        if let zone = try livingZone(zoneID, of: event, db) { return zone }
        let key = key
        let zone = try makeZone(zoneID, of: event, sequence, db)
        remember(zone, key)
        return zone
    }

    /// The zone that an event names; nil if it does not exist or is deleted. Leaves the zone's key in `key`.
    mutating func livingZone(_ zoneID: JSONValue?, of event: JSONValue, _ db: Database) throws -> ZoneRow? {
        beginKey(event, .container, .environment, .database)
        append(event.scope == .public ? nil : event[.owner])
        let databaseKey = key
        let (name, owner) = ZoneKey.parts(zoneID, in: event.scope)
        append(name)
        append(owner)
        if let zone = zones[key] { return zone }
        let zoneKey = key
        guard let database = try database(databaseKey, of: event, db) else { return nil }
        let found = try RowCache.find(database, event.scope, ZoneKey(zoneID), db)
        if let found { remember(found, zoneKey) }
        key = zoneKey
        return found
    }

    private mutating func remember(_ zone: ZoneRow, _ key: [UInt8]) {
        if zones.count >= RowCache.countMax { zones = [:] }
        zones[key] = zone
    }

    mutating func forget(zone id: Int64) { zones = zones.filter { $0.value.id != id } }

    private static func find(
        _ database: Int64, _ scope: DatabaseScope, _ zone: ZoneKey, _ db: Database
    ) throws -> ZoneRow? {
        let owner = scope == .shared ? zone.owner ?? "" : ""
        let id = try db.prepared(
            "SELECT id FROM zones WHERE database = ? AND name = ? AND owner = ? AND deleted IS NULL"
        ).first([.int(database), .text(zone.name), .text(owner)]) { $0.int(0) }
        return id.map { ZoneRow(id: $0, database: database, scope, zone.name, owner) }
    }

    private mutating func makeZone(
        _ zoneID: JSONValue?, of event: JSONValue, _ sequence: UInt64, _ db: Database
    ) throws -> ZoneRow {
        let (scope, zone) = (event.scope, ZoneKey(zoneID))
        let owner = scope == .shared ? zone.owner ?? "" : ""
        let database = try makeDatabase(of: event, db)
        let names: [SQLValue] = [.int(database), .text(zone.name), .text(owner)]
        try db.prepared(
            "UPDATE zones SET isReplaced = 1 WHERE database = ? AND name = ? AND owner = ? AND deleted IS NOT NULL"
        ).run(names)
        try db.prepared("INSERT INTO zones(database, name, owner, id, changed) VALUES (?, ?, ?, ?, ?)").run(
            names + [.sequence(sequence), .sequence(sequence)])
        return ZoneRow(id: Int64(sequence), database: database, scope, zone.name, owner)
    }
}

// MARK: - Databases and accounts

extension RowCache {
    private mutating func database(_ key: [UInt8], of event: JSONValue, _ db: Database) throws -> Int64? {
        if let id = databases[key] { return id }
        let id = try db.prepared(
            "SELECT id FROM databases WHERE container = ? AND environment = ? AND scope = ? AND owner = ?"
        ).first(RowCache.names(of: event)) { $0.int(0) }
        if databases.count >= RowCache.countMax { databases = [:] }
        databases[key] = id
        return id
    }

    private mutating func makeDatabase(of event: JSONValue, _ db: Database) throws -> Int64 {
        try db.prepared(
            "INSERT OR IGNORE INTO databases(container, environment, scope, owner) VALUES (?, ?, ?, ?)"
        ).run(RowCache.names(of: event))
        beginKey(event, .container, .environment, .database)
        append(event.scope == .public ? nil : event[.owner])
        return try database(key, of: event, db) ?? 0
    }

    private static func names(of event: JSONValue) -> [SQLValue] {
        let owner = event.scope == .public ? nil : event[.owner]
        return [
            .json(event[.container]), .json(event[.environment]), .json(event[.database]),
            owner.map { .json($0) } ?? .text(""),
        ]
    }

    /// The ID of the user's row in `accounts`; the row is made if the user is new.
    @discardableResult
    mutating func account(_ user: JSONValue, of event: JSONValue, _ db: Database) throws -> Int64 {
        beginKey(event, .container, .environment)
        append(user)
        if let id = accounts[key] { return id }
        let names: [SQLValue] = [.json(event[.container]), .json(event[.environment]), .json(user)]
        try db.prepared("INSERT OR IGNORE INTO accounts(container, environment, user) VALUES (?, ?, ?)").run(names)
        let id = try db.prepared("SELECT id FROM accounts WHERE container = ? AND environment = ? AND user = ?")
            .first(names) { $0.int(0) }
        if accounts.count >= RowCache.countMax { accounts = [:] }
        accounts[key] = id
        return id ?? 0
    }

    private mutating func beginKey(_ event: JSONValue, _ members: Member...) {
        key.removeAll(keepingCapacity: true)
        for member in members { append(event[member]) }
    }

    /// Appends a name and a zero byte to the key. Names have no control characters, so no name contains the zero byte.
    private mutating func append(_ name: JSONValue?) {
        if let name { _ = name.withText { key.append(contentsOf: $0) } }
        key.append(0)
    }
}

extension ZoneRow {
    fileprivate init(id: Int64, database: Int64, _ scope: DatabaseScope, _ name: String, _ owner: String) {
        self.init(
            id: id, database: database, isShared: scope == .shared,
            targetPrefix: RecordTarget.zonePrefix(name: name, owner: owner))
    }
}

extension ZoneKey {
    /// The name and the owner that distinguish a zone from the others of its database. The name is nil for the default
    /// zone. The owner is nil if it follows from the database.
    static func parts(_ zoneID: JSONValue?, in scope: DatabaseScope) -> (name: JSONValue?, owner: JSONValue?) {
        guard let zoneID else { return (nil, nil) }
        let name = zoneID[.zoneName].flatMap { $0.equals(ZoneID.defaultZone) ? nil : $0 }
        guard scope == .shared, let owner = zoneID[.ownerRecordName] ?? zoneID["ownerName"],
            !owner.equals(ZoneID.currentUser), !owner.equals(ZoneID.defaultOwner)
        else { return (name, nil) }
        return (name, owner)
    }
}

extension JSONValue {
    /// The scope of the database that a checked event names.
    var scope: DatabaseScope {
        switch self[.database] {
        case "public"?: .public
        case "shared"?: .shared
        default: .private
        }
    }
}
