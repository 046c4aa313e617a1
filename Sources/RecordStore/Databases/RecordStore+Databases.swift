import CloudKitModel
import GRDB

extension RecordStore {
    /// The zones of a database that are not deleted: the default zone, and then the others by name.
    package func zones(in database: DatabaseID) throws(RecordStoreError) -> [ZoneKey] {
        try read { db in
            [.defaultZone] + (try StoredZone.all(in: database, db).map(\.key).filter { $0 != .defaultZone })
        }
    }

    /// - Returns: Whether the zone exists. The default zone always exists.
    package func hasZone(_ zone: ZoneKey, in database: DatabaseID) throws(RecordStoreError) -> Bool {
        try read { db in
            do {
                _ = try StoredZone.find(zone, in: database, db)
                return true
            } catch RecordReadError.zoneNotFound { return false }
        }
    }
}

// MARK: - Subscriptions

/// A subscription as its user saved it.
package struct StoredSubscription: Hashable, Sendable {
    package let id: String
    /// The sequence of the newest `subscription.save` event.
    package let sequence: UInt64
    /// The subscription dictionary as JSON.
    package let body: [UInt8]
}

extension RecordStore {
    /// The subscriptions that a user has in a database, in the order in which they were last saved.
    package func subscriptions(
        of account: AccountID, in scope: DatabaseScope
    ) throws(RecordStoreError) -> [StoredSubscription] {
        try read { db in
            try db.prepared(
                """
                SELECT s.id, s.sequence, s.body FROM subscriptions s JOIN accounts a ON a.id = s.account
                WHERE a.container = ? AND a.environment = ? AND a.user = ? AND s.scope = ? ORDER BY s.sequence
                """
            ).all(account.values + [.text(scope.word.description)], StoredSubscription.init)
        }
    }

    /// The subscription with an ID; nil if the user has no such subscription in the database.
    package func subscription(
        _ id: String, of account: AccountID, in scope: DatabaseScope
    ) throws(RecordStoreError) -> StoredSubscription? {
        try read { db in
            try db.prepared(
                """
                SELECT s.id, s.sequence, s.body FROM subscriptions s JOIN accounts a ON a.id = s.account
                WHERE a.container = ? AND a.environment = ? AND a.user = ? AND s.scope = ? AND s.id = ?
                """
            ).first(account.values + [.text(scope.word.description), .text(id)], StoredSubscription.init)
        }
    }
}

extension StoredSubscription {
    fileprivate init(_ row: SQLRow) {
        self.init(id: row.text(0), sequence: row.sequence(1), body: Array(row.bytes(2)))
    }
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
    fileprivate var values: [SQLValue] {
        [.text(container), .text(environment.word.description), .text(user)]
    }
}
