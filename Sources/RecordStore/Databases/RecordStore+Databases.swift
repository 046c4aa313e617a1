import CloudKitModel
import GRDB

extension RecordStore {
    /// The zones of a database that are not deleted: the default zone, and then the others by name.
    ///
    /// - Throws: ``RecordReadError/answerTooLong(bytesMax:)`` if the zones have more than ``answerBytesMax`` bytes
    ///   together; ``RecordReadError/store(_:)``.
    package func zones(in database: DatabaseID) throws(RecordReadError) -> [ZoneKey] {
        try readForClient { db in
            let zones = try StoredZone.all(in: database, db, bytesMax: answerBytesMax)
            return [.defaultZone] + zones.map(\.key).filter { $0 != .defaultZone }
        }
    }

    /// - Returns: Whether the zone exists. The default zone always exists.
    package func hasZone(_ zone: ZoneKey, in database: DatabaseID) throws(RecordStoreError) -> Bool {
        try read { try RecordStore.hasZone(zone, in: database, $0) }
    }

    /// How many zones a database has besides the default zone, and which of the given zones exist. The default zone
    /// always exists.
    package func savedZones(
        among zones: [ZoneKey], in database: DatabaseID
    ) throws(RecordStoreError) -> SavedItems<ZoneKey> {
        try read { db in
            let count = try StoredZone.database(database, db).flatMap { id in
                try db.prepared("SELECT count(*) FROM zones WHERE database = ? AND deleted IS NULL AND name != ?")
                    .first(
                        [.int(id), .text(ZoneKey.defaultZone.name)]) { Int($0.int(0)) }
            }
            return SavedItems(
                count: count ?? 0, known: Set(try zones.filter { try RecordStore.hasZone($0, in: database, db) }))
        }
    }

    private static func hasZone(_ zone: ZoneKey, in database: DatabaseID, _ db: some SQLConnection) throws -> Bool {
        do {
            _ = try StoredZone.find(zone, in: database, db)
            return true
        } catch RecordReadError.zoneNotFound { return false }
    }
}

/// How many items of one kind count for a limit, such as a user's subscriptions, and which of the items that a request
/// names exist already.
package struct SavedItems<ID: Hashable & Sendable>: Hashable, Sendable {
    package let count: Int
    package let known: Set<ID>

    package init(count: Int, known: Set<ID>) { (self.count, self.known) = (count, known) }
}

// MARK: - Users and devices

/// A registered device.
package struct StoredDevice: Hashable, Sendable {
    package let name: String
    /// The sequence of the newest `device.register` event.
    package let sequence: UInt64
    package let transport: String
    package let token: String
    /// Nil if the event has no topic.
    package let topic: String?
}

extension RecordStore {
    /// The devices of a user, by name.
    package func devices(of account: AccountID) throws(RecordStoreError) -> [StoredDevice] {
        try read { db in
            try db.prepared(
                """
                SELECT d.name, d.sequence, d.transport, d.token, d.topic FROM devices d
                JOIN accounts a ON a.id = d.account
                WHERE a.container = ? AND a.environment = ? AND a.user = ? ORDER BY d.name
                """
            ).all(account.values) { row in
                StoredDevice(
                    name: row.text(0), sequence: row.sequence(1), transport: row.text(2), token: row.text(3),
                    topic: row.textIfAny(4))
            }
        }
    }

    /// Whether an event that the store has applied names the user: as the owner of a database, as the origin of a
    /// record's change, as a subscriber, or as the holder of a device.
    package func knows(_ account: AccountID) throws(RecordStoreError) -> Bool {
        try read { db in
            try db.prepared("SELECT 1 FROM accounts WHERE container = ? AND environment = ? AND user = ?").first(
                account.values
            ) { _ in true } ?? false
        }
    }

    /// The known users of a container and environment whose names sort after `name`, in the order of their names.
    package func users(
        of container: String, _ environment: ContainerEnvironment, after name: String = "", limit: Int = 200
    ) throws(RecordStoreError) -> [String] {
        try read { db in
            try db.prepared(
                "SELECT user FROM accounts WHERE container = ? AND environment = ? AND user > ? ORDER BY user LIMIT ?"
            ).all([
                .text(container), .text(environment.word.description), .text(name), .int(Int64(limit)),
            ]) { $0.text(0) }
        }
    }
}

extension AccountID {
    /// The container, the environment and the user, as parameters of a statement.
    var values: [SQLValue] {
        [.text(container), .text(environment.word.description), .text(user)]
    }
}
