import CloudKitModel
import GRDB

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
    ///
    /// - Throws: ``RecordReadError/answerTooLong(bytesMax:)`` if the subscriptions have more than ``answerBytesMax``
    ///   bytes together; ``RecordReadError/store(_:)``.
    package func subscriptions(
        of account: AccountID, in scope: DatabaseScope
    ) throws(RecordReadError) -> [StoredSubscription] {
        try readForClient { db in
            var reader = try SubscriptionReader(account, scope, bytesMax: answerBytesMax, db)
            let ids = try db.prepared("SELECT s.id FROM \(RecordStore.subscriptionsOfUser) ORDER BY s.sequence")
            // SQLite sorts only the IDs. Each subscription is read on its own, so that reading stops as soon as the
            // subscriptions have more than `answerBytesMax` bytes.
            let found = try ids.all(reader.owner) { try reader.read(id: $0.text(0)) }
            return found.compactMap(\.self)
        }
    }

    /// The subscriptions with these IDs, in the order in which the IDs are given.
    ///
    /// - Returns: A subscription for each ID; nil if the user has no such subscription in the database.
    /// - Throws: ``RecordReadError/answerTooLong(bytesMax:)`` if the subscriptions have more than ``answerBytesMax``
    ///   bytes together; ``RecordReadError/store(_:)``.
    package func subscriptions(
        withIDs ids: [String], of account: AccountID, in scope: DatabaseScope
    ) throws(RecordReadError) -> [StoredSubscription?] {
        try readForClient { db in
            var reader = try SubscriptionReader(account, scope, bytesMax: answerBytesMax, db)
            return try ids.map { try reader.read(id: $0) }
        }
    }

    /// How many subscriptions a user has in a database, and which of the given IDs are among their IDs. Reads no
    /// subscription dictionary.
    package func savedSubscriptions(
        among ids: [String], of account: AccountID, in scope: DatabaseScope
    ) throws(RecordStoreError) -> SavedItems<String> {
        try read { db in
            let owner = account.values + [.text(scope.word.description)]
            let count = try db.prepared("SELECT count(*) FROM \(RecordStore.subscriptionsOfUser)").first(owner) {
                Int($0.int(0))
            }
            let find = try db.prepared("SELECT 1 FROM \(RecordStore.subscriptionsOfUser) AND s.id = ?")
            let known = try ids.filter { try find.first(owner + [.text($0)]) { _ in true } ?? false }
            return SavedItems(count: count ?? 0, known: Set(known))
        }
    }

    fileprivate static let subscriptionsOfUser = """
        subscriptions s JOIN accounts a ON a.id = s.account
        WHERE a.container = ? AND a.environment = ? AND a.user = ? AND s.scope = ?
        """
}

/// Reads single subscriptions of one user in one database, until they have more bytes than one answer may have.
private struct SubscriptionReader {
    let owner: [SQLValue]
    private let statement: PreparedStatement
    private let bytesMax: Int
    private var bytes = 0

    init(_ account: AccountID, _ scope: DatabaseScope, bytesMax: Int, _ db: some SQLConnection) throws {
        owner = account.values + [.text(scope.word.description)]
        statement = try db.prepared(
            "SELECT s.id, s.sequence, s.body FROM \(RecordStore.subscriptionsOfUser) AND s.id = ?")
        self.bytesMax = bytesMax
    }

    mutating func read(id: String) throws -> StoredSubscription? {
        try statement.first(owner + [.text(id)]) { row in
            bytes += row.bytes(2).count
            guard bytes <= bytesMax else { throw RecordReadError.answerTooLong(bytesMax: bytesMax) }
            return StoredSubscription(id: row.text(0), sequence: row.sequence(1), body: Array(row.bytes(2)))
        }
    }
}
