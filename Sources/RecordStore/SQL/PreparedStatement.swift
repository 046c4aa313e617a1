import GRDB
import GRDBSQLite

/// A prepared statement. Unlike GRDB's own calls, it can bind JSON text and read rows without making Swift strings.
///
/// A statement belongs to one connection. Do not run a statement again while its rows are being read.
struct PreparedStatement {
    private let statement: Statement

    init(_ statement: Statement) { self.statement = statement }

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
        let handle = statement.sqliteStatement
        defer {
            sqlite3_reset(handle)
            sqlite3_clear_bindings(handle)
        }
        for (index, value) in values.enumerated() {
            let code = value.bind(to: handle, at: CInt(index + 1))
            guard code == SQLITE_OK else { throw failure(code) }
        }
        while try step(handle), try body(SQLRow(handle: handle)) {}
    }

    /// - Returns: Whether there is a row.
    private func step(_ handle: SQLiteStatement) throws -> Bool {
        let code = sqlite3_step(handle)
        guard code == SQLITE_ROW || code == SQLITE_DONE else { throw failure(code) }
        return code == SQLITE_ROW
    }

    private func failure(_ code: CInt) -> DatabaseError {
        let message = sqlite3_db_handle(statement.sqliteStatement).flatMap { sqlite3_errmsg($0) }
        return DatabaseError(
            resultCode: ResultCode(rawValue: code), message: message.map { String(cString: $0) },
            sql: statement.sql)
    }
}

/// The current row of a statement. Valid only during the call that gets it.
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

extension Database {
    /// The statement, prepared once for each connection.
    func prepared(_ sql: String) throws -> PreparedStatement { PreparedStatement(try cachedStatement(sql: sql)) }
}
