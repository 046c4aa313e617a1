import Events
import Foundation
import GRDB
import JSON

/// How far a client has read: the last push that it got, and the number of the last mark (see ``MarksLog``) whose
/// notification it got.
struct ChangeToken: Hashable, Sendable {
    /// The identity of the log of pushes; `0` while this machine has no such log.
    let log: String
    var push: Int64
    var mark: Int64

    init(log: String, push: Int64, mark: Int64) { (self.log, self.push, self.mark) = (log, push, mark) }

    init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3, let push = Int64(parts[1]), let mark = Int64(parts[2]), push >= 0, mark >= 0 else {
            return nil
        }
        (log, self.push, self.mark) = (String(parts[0]), push, mark)
    }

    /// Whether the courier may have issued this token: it belongs to the log of the newest token `end`, and is not
    /// beyond `end`.
    func isWithin(_ end: ChangeToken) -> Bool { log == end.log && push <= end.push && mark <= end.mark }

    var text: String { "\(log)-\(push)-\(mark)" }
}

/// The notifications since a change token. First come the notifications whose pushes are newer than the token, in the
/// order of the pushes. Then come the older notifications that got a mark after the token, because they were read or
/// came late. They are in the order of their marks.
struct InboxPage: ~Copyable {
    private let tables: InboxTables
    private let account: Int64
    private let entriesMax: Int
    private var json = ByteBuffer(capacity: 4096)
    private var entries = 0
    private var token: ChangeToken

    /// - Parameter since: Nil to begin with the oldest notification.
    static func json(
        _ db: Database, account: Int64, since: ChangeToken?, log: String, entriesMax: Int
    ) throws -> [UInt8] {
        let tables = InboxTables(db: db)
        let start = try since ?? ChangeToken(log: log, push: 0, mark: tables.last(of: account).mark)
        var page = InboxPage(tables, account, entriesMax, start)
        let moreComing = try page.fill(from: start)
        return page.close(moreComing)
    }

    private init(_ tables: InboxTables, _ account: Int64, _ entriesMax: Int, _ start: ChangeToken) {
        (self.tables, self.account, self.entriesMax, token) = (tables, account, entriesMax, start)
        json.append("{\"notifications\":[")
    }

    /// - Returns: Whether more notifications follow on the next page.
    private mutating func fill(from start: ChangeToken) throws -> Bool {
        let isWhole = try add("push > ? ORDER BY push", [account, start.push]) { token, push, _ in token.push = push }
        guard isWhole else { return true }
        return try !add("mark > ? AND push <= ? ORDER BY mark", [account, start.mark, start.push]) { token, _, mark in
            token.mark = mark
        }
    }

    /// - Returns: Whether all rows fitted.
    private mutating func add(
        _ condition: String, _ arguments: StatementArguments, _ advance: (inout ChangeToken, Int64, Int64) -> Void
    ) throws -> Bool {
        let statement = try tables.db.cachedStatement(
            sql: "SELECT push, id, isRead, body, ifnull(mark, 0) FROM notifications WHERE account = ? AND " + condition)
        let rows = try Row.fetchCursor(statement, arguments: arguments)
        while let row = try rows.next() {
            guard entries < entriesMax, json.count < CourierLimits.fullPageBytes else { return false }
            add(id: row[1], isRead: row[2], body: row[3])
            advance(&token, row[0], row[4])
        }
        return true
    }

    private mutating func add(id: String, isRead: Bool, body: Data) {
        if entries > 0 { json.append(byte: UInt8(ascii: ",")) }
        entries += 1
        json.append("{")
        json.append("notificationID", id)
        json.append("isRead", isRead)
        json.append(member: .payload)
        body.withUnsafeBytes { json.append($0) }
        json.append(byte: UInt8(ascii: "}"))
    }

    private consuming func close(_ moreComing: Bool) -> [UInt8] {
        json.append("],\"serverChangeToken\":")
        json.appendJSON(token.text)
        json.append("moreComing", moreComing)
        json.append(byte: UInt8(ascii: "}"))
        return Array(json.bytes)
    }
}

extension InboxTables {
    /// The last push that is in the inbox or was removed from it since the store was built, and the last mark of the
    /// notifications in the inbox.
    func last(of account: Int64) throws -> (push: Int64, mark: Int64) {
        try rows(
            """
            SELECT max(floor, ifnull((SELECT max(push) FROM notifications WHERE account = a.id), 0)),
                ifnull((SELECT max(mark) FROM notifications WHERE account = a.id AND mark IS NOT NULL), 0)
            FROM accounts a WHERE id = ?
            """, [account]
        ).first.map { ($0[0], $0[1]) } ?? (0, 0)
    }
}
