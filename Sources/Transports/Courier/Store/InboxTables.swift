import Foundation
import GRDB
import Time

/// The queries and changes of the courier's tables, inside one transaction.
struct InboxTables {
    let db: Database

    // MARK: Accounts and devices

    /// The row ID of the account. An unknown account is added.
    func account(_ account: Account) throws -> Int64 {
        let arguments: StatementArguments = [account.container, account.environment, account.user]
        try run(
            "INSERT INTO accounts(container, environment, user) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", arguments)
        return try value("SELECT id FROM accounts WHERE container = ? AND environment = ? AND user = ?", arguments) ?? 0
    }

    /// The row ID of the device. An unknown device is added without a token.
    func device(_ name: String, of account: Int64) throws -> Int64 {
        try run("INSERT INTO devices(account, name) VALUES (?, ?) ON CONFLICT DO NOTHING", [account, name])
        return try value("SELECT id FROM devices WHERE account = ? AND name = ?", [account, name]) ?? 0
    }

    /// Gives the token to the device, and takes it from any other device: a token belongs to the device that registered
    /// it last.
    func register(_ token: CourierToken, topic: String?, device name: String, of account: Account) throws {
        let device = try device(name, of: self.account(account))
        try run("UPDATE devices SET token = NULL WHERE token = ?", [token.text])
        try run("UPDATE devices SET token = ?, topic = ? WHERE id = ?", [token.text, topic, device])
    }

    func unregister(device name: String, of account: Account) throws {
        try run("UPDATE devices SET token = NULL WHERE account = ? AND name = ?", [self.account(account), name])
    }

    func owner(of token: CourierToken) throws -> (device: Int64, account: Int64)? {
        try rows("SELECT id, account FROM devices WHERE token = ?", [token.text]).first.map { ($0[0], $0[1]) }
    }

    // MARK: Notifications

    /// Whether this push, or a newer push, was removed from the inbox.
    func wasRemoved(push: Int64, from account: Int64) throws -> Bool {
        push <= (try value("SELECT floor FROM accounts WHERE id = ?", [account]) ?? 0)
    }

    /// - Returns: The stored body of the push. If the push was added before, this is the earlier body.
    @discardableResult
    func add(
        push: Int64, id: String, body: Data, to account: Int64, time: Instant, _ expiration: Expiration
    ) throws -> Data {
        try run(
            """
            INSERT INTO notifications(push, account, id, body, time, expires) VALUES (?, ?, ?, ?, ?, ?)
                ON CONFLICT DO NOTHING
            """, [push, account, id, body, time.microseconds, expiration.end(ofPushArrivingAt: time)])
        guard db.changesCount == 0 else { return body }
        return try value("SELECT body FROM notifications WHERE push = ?", [push]) ?? body
    }

    /// - Parameter payload: Nil if the payload equals the notification's body.
    func add(push: Int64, to device: Int64, apnsID: String?, payload: Data?) throws {
        try run(
            "INSERT INTO deliveries(push, device, apnsID, payload) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            [push, device, apnsID, payload])
    }

    /// The next pushes that the device gets when it polls.
    func next(for device: Int64, limit: Int, at now: Instant) throws -> [(apnsID: String, payload: Data)] {
        try rows(
            """
            SELECT d.apnsID, ifnull(d.payload, n.body) FROM deliveries d JOIN notifications n USING (push)
            WHERE d.device = ? AND d.taken = 0 AND d.apnsID IS NOT NULL AND ifnull(n.expires > ?, 1)
            ORDER BY push LIMIT ?
            """, [device, now.microseconds, limit]
        ).map { ($0[0], $0[1]) }
    }

    // MARK: Marks

    func markTaken(apnsID: String) throws { try run("UPDATE deliveries SET taken = 1 WHERE apnsID = ?", [apnsID]) }

    func markRead(push: Int64, mark: Int64) throws {
        try run("UPDATE notifications SET isRead = 1, mark = ? WHERE push = ?", [mark, push])
    }

    func markLate(push: Int64, mark: Int64) throws {
        try run("UPDATE notifications SET mark = ? WHERE push = ?", [mark, push])
    }

    /// Whether a push with a higher number came first. A client may then have read beyond this push already.
    func isLate(push: Int64, in account: Int64) throws -> Bool {
        try value("SELECT EXISTS (SELECT 1 FROM notifications WHERE account = ? AND push > ?)", [account, push])
            ?? false
    }

    /// The pushes whose notification has this ID, and whether each is marked as read.
    func pushes(of id: String, in account: Int64) throws -> [(push: Int64, isRead: Bool)] {
        try rows("SELECT push, isRead FROM notifications WHERE account = ? AND id = ? ORDER BY push", [account, id])
            .map { ($0[0], $0[1]) }
    }

    // MARK: Retention

    /// Removes the oldest notifications of an inbox that has too many.
    func trim(_ account: Int64, to most: Int) throws {
        let held: Int = try value("SELECT held FROM accounts WHERE id = ?", [account]) ?? 0
        guard held > most else { return }
        try run(
            """
            DELETE FROM notifications WHERE push IN
                (SELECT push FROM notifications WHERE account = ? ORDER BY push LIMIT ?)
            """, [account, held - most])
    }

    func trimAll(to most: Int) throws {
        for account in try Int64.fetchAll(db, sql: "SELECT id FROM accounts WHERE held > ?", arguments: [most]) {
            try trim(account, to: most)
        }
    }

    func trim(before time: Int64) throws { try run("DELETE FROM notifications WHERE time < ?", [time]) }

    // MARK: Positions

    func position(_ name: Position) throws -> Int64 { try value(Self.position, [name.rawValue]) ?? 0 }
    func text(_ name: Position) throws -> String? { try value(Self.position, [name.rawValue]) }

    private static let position = "SELECT value FROM positions WHERE name = ?"

    func set(_ name: Position, _ value: some DatabaseValueConvertible) throws {
        try run("INSERT OR REPLACE INTO positions(name, value) VALUES (?, ?)", [name.rawValue, value])
    }

    // MARK: Statements

    func run(_ sql: String, _ arguments: StatementArguments = []) throws {
        try db.cachedStatement(sql: sql).execute(arguments: arguments)
    }

    func rows(_ sql: String, _ arguments: StatementArguments) throws -> [Row] {
        try Row.fetchAll(db.cachedStatement(sql: sql), arguments: arguments)
    }

    /// The first row's first value.
    func value<Value: DatabaseValueConvertible>(_ sql: String, _ arguments: StatementArguments) throws -> Value? {
        try Value.fetchOne(db.cachedStatement(sql: sql), arguments: arguments)
    }
}

/// The names in the table `positions`.
enum Position: String {
    /// The identity of the log of pushes from which the tables were built.
    case log
    /// The event of the log of pushes up to which the device changes were applied.
    case devices
    /// The last entry of the log of marks (``MarksLog``) that was applied to the tables.
    case marks
}
