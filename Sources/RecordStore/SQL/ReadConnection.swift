import GRDB
import GRDBSQLite

/// A connection to the store's file that only reads. It keeps its prepared statements.
///
/// It is sendable, but only one thread at a time may use it.
final class ReadConnection: SQLConnection, @unchecked Sendable {
    private let handle: SQLiteConnection
    private var statements: [String: PreparedStatement] = [:]
    private var limit = ReadLimit.none
    /// Why the limit has stopped the read; nil while the read may go on.
    private(set) var stop: ReadStop?
    /// The work since ``spend(_:)`` last asked the limit, in the unit of that method.
    private var work = 0

    // The limit is asked after this many SQLite instructions, and after this many units of ``spend(_:)``. Each of the
    // two takes a few milliseconds at most.
    private static let instructionsPerCheck: CInt = 1_000
    private static let workPerCheck = 64 << 10

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
        // SQLite calls this function also while a statement runs for long without returning a row. If the function
        // returns a number other than 0, `sqlite3_step` fails with SQLITE_INTERRUPT.
        sqlite3_progress_handler(
            handle, Self.instructionsPerCheck,
            { connection in
                guard let connection else { return 0 }
                return Unmanaged<ReadConnection>.fromOpaque(connection).takeUnretainedValue().mustStop() ? 1 : 0
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit {
        for statement in statements.values { statement.close() }
        sqlite3_close_v2(handle)
    }

    /// Calls `body` in a transaction: all reads in `body` see the same state of the store.
    ///
    /// - Throws: ``ReadStop`` if the limit stops the read. The connection can then be used for other reads.
    func read<Value>(within limit: ReadLimit = .none, _ body: (ReadConnection) throws -> Value) throws -> Value {
        try prepared("BEGIN").run()
        self.limit = limit
        let result = Result {
            try check()
            return try body(self)
        }
        let stop = stop
        (self.limit, self.stop, work) = (.none, nil, 0)
        try prepared("COMMIT").run()
        if let stop { throw stop }
        return try result.get()
    }

    /// Counts work on the values of rows. SQLite's own count does not include this work. One unit is the time in which
    /// one byte of JSON is parsed.
    ///
    /// - Throws: ``ReadStop``
    func spend(_ amount: Int) throws {
        work += amount
        guard work >= Self.workPerCheck else { return }
        work = 0
        try check()
    }

    private func check() throws {
        if mustStop(), let stop { throw stop }
    }

    private func mustStop() -> Bool {
        if stop == nil { stop = limit.stop() }
        return stop != nil
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
