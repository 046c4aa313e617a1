import GRDB
import GRDBSQLite

/// A prepared statement. Unlike GRDB's own calls, it can bind JSON text and read rows without making Swift strings.
///
/// A statement belongs to one connection. Do not run a statement again while its rows are being read.
struct PreparedStatement {
    private let handle: SQLiteStatement
    /// GRDB's statement, which closes `handle` when it is released. Nil for a statement of a ``ReadConnection``.
    private let owner: Statement?

    init(_ statement: Statement) { (handle, owner) = (statement.sqliteStatement, statement) }

    /// - Parameter handle: The owner of the new value must close it with ``close()``.
    init(_ handle: SQLiteStatement) { (self.handle, owner) = (handle, nil) }

    func close() { sqlite3_finalize(handle) }

    /// Runs a statement that returns no rows.
    func run(_ values: [SQLValue] = []) throws {
        try each(values) { _ in false }
    }

    /// - Returns: The result of `read` for the first row; nil if there is no row.
    func first<Value>(_ values: [SQLValue] = [], _ read: (SQLRow) throws -> Value) throws -> Value? {
        var found: Value?
        try each(values) {
            found = try read($0)
            return false
        }
        return found
    }

    /// - Returns: The results of `read` for all rows.
    func all<Value>(_ values: [SQLValue] = [], _ read: (SQLRow) throws -> Value) throws -> [Value] {
        var found: [Value] = []
        try each(values) {
            found.append(try read($0))
            return true
        }
        return found
    }

    /// Calls `body` for each row until `body` returns false.
    func each(_ values: [SQLValue] = [], _ body: (SQLRow) throws -> Bool) throws {
        defer {
            sqlite3_reset(handle)
            sqlite3_clear_bindings(handle)
        }
        for (index, value) in values.enumerated() {
            let code = value.bind(to: handle, at: CInt(index + 1))
            guard code == SQLITE_OK else { throw failure(code) }
        }
        while try step(), try body(SQLRow(handle: handle)) {}
    }

    /// - Returns: Whether there is a row.
    private func step() throws -> Bool {
        let code = sqlite3_step(handle)
        guard code == SQLITE_ROW || code == SQLITE_DONE else { throw failure(code) }
        return code == SQLITE_ROW
    }

    private func failure(_ code: CInt) -> DatabaseError {
        DatabaseError(code, of: sqlite3_db_handle(handle), sql: sqlite3_sql(handle).map { String(cString: $0) })
    }
}

/// The current row of a statement. Valid only during the call to which it is passed.
struct SQLRow {
    fileprivate let handle: SQLiteStatement

    func isNull(_ column: Int) -> Bool { sqlite3_column_type(handle, CInt(column)) == SQLITE_NULL }

    func int(_ column: Int) -> Int64 { sqlite3_column_int64(handle, CInt(column)) }

    func sequence(_ column: Int) -> UInt64 { UInt64(int(column)) }

    /// The bytes of a text or blob, without a copy.
    func bytes(_ column: Int) -> UnsafeRawBufferPointer {
        let start = sqlite3_column_blob(handle, CInt(column))
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, CInt(column))))
    }

    func text(_ column: Int) -> String { String(decoding: bytes(column), as: UTF8.self) }

    /// Nil if the column is NULL.
    func textIfAny(_ column: Int) -> String? { isNull(column) ? nil : text(column) }
}

/// A connection to a store's file.
protocol SQLConnection {
    /// The statement, prepared once for each connection.
    func prepared(_ sql: String) throws -> PreparedStatement
}

extension Database: SQLConnection {
    func prepared(_ sql: String) throws -> PreparedStatement { PreparedStatement(try cachedStatement(sql: sql)) }
}

extension DatabaseError {
    init(_ code: CInt, of connection: SQLiteConnection?, sql: String? = nil) {
        let message = connection.flatMap { sqlite3_errmsg($0) }
        self.init(resultCode: ResultCode(rawValue: code), message: message.map { String(cString: $0) }, sql: sql)
    }
}
