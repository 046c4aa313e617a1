import GRDB
import GRDBSQLite

/// A connection to the store's file that only reads. It keeps its prepared statements.
///
/// It is sendable, but only one thread at a time may use it.
final class ReadConnection: SQLConnection, @unchecked Sendable {
    private let handle: SQLiteConnection
    private var statements: [String: PreparedStatement] = [:]

    /// - Throws: `DatabaseError` if SQLite cannot open the file.
    init(path: String) throws {
        var opened: SQLiteConnection?
        let code = sqlite3_open_v2(path, &opened, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK, let opened else {
            defer { sqlite3_close_v2(opened) }
            throw DatabaseError(code, of: opened)
        }
        handle = opened
        sqlite3_busy_timeout(handle, 5_000)
        try prepared("PRAGMA cache_size = -16384").run()
    }

    deinit {
        for statement in statements.values { statement.close() }
        sqlite3_close_v2(handle)
    }

    /// Gives `body` one state of the store.
    func read<Value>(_ body: (ReadConnection) throws -> Value) throws -> Value {
        try prepared("BEGIN").run()
        let result = Result { try body(self) }
        try prepared("COMMIT").run()
        return try result.get()
    }

    func prepared(_ sql: String) throws -> PreparedStatement {
        if let statement = statements[sql] { return statement }
        var made: SQLiteStatement?
        let code = sqlite3_prepare_v3(handle, sql, -1, CUnsignedInt(SQLITE_PREPARE_PERSISTENT), &made, nil)
        guard code == SQLITE_OK, let made else { throw DatabaseError(code, of: handle, sql: sql) }
        let statement = PreparedStatement(made)
        statements[sql] = statement
        return statement
    }
}
