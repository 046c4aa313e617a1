import EventLog
import Foundation
import GRDB
import Glibc
import PipelineKit
import Synchronization

/// The SQLite file: the inboxes, the deliveries to devices, and the positions in the logs up to which the tables are
/// built. One connection writes, in WAL mode; other connections read at the same time.
struct InboxStore: Sendable {
    let path: String
    /// For ``CourierStore``. The pages of inboxes are read through ``pages``.
    let pool: DatabasePool
    let pages: PageReader

    /// Opens the file, or makes an empty one. A file that is damaged or of another version is moved aside first.
    ///
    /// - Parameters:
    ///   - isDurable: Whether each transaction must survive a power failure.
    ///   - mode: The mode of a new file and of new folders.
    /// - Returns: The store, and the new path of the file that was moved aside; nil if no file was moved.
    static func open(_ path: String, isDurable: Bool, mode: DataMode) throws -> (
        store: InboxStore, setAside: String?
    ) {
        if let code = mode.makeFolders((path as NSString).deletingLastPathComponent) { throw POSIXError.of(code) }
        try removeRest(of: path)
        do {
            return (try InboxStore(path, isDurable: isDurable, mode), nil)
        } catch let error where error.isDamage {
            let aside = try setAside(path)
            return (try InboxStore(path, isDurable: isDurable, mode), aside)
        }
    }

    /// Removes SQLite's `-wal` and `-shm` files if the database file is missing, so that they do not become part of a
    /// new database.
    private static func removeRest(of path: String) throws {
        guard !FileManager.default.fileExists(atPath: path) else { return }
        for end in ["-wal", "-shm"] where FileManager.default.fileExists(atPath: path + end) {
            try FileManager.default.removeItem(atPath: path + end)
        }
    }

    private init(_ path: String, isDurable: Bool, _ mode: DataMode) throws {
        try InboxStore.make(path, mode)
        var configuration = Configuration()
        configuration.label = "courier"
        configuration.maximumReaderCount = 2
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA synchronous = \(isDurable ? "FULL" : "NORMAL")")
        }
        self.path = path
        pool = try DatabasePool(path: path, configuration: configuration)
        pages = PageReader(pool)
        try pool.write { db in try Schema.make(in: db) }
    }

    /// Makes an empty file if there is no file yet. SQLite treats an empty file as a new database. SQLite's other files
    /// get the same mode.
    private static func make(_ path: String, _ mode: DataMode) throws {
        let file = mode.open(path, O_RDWR | O_CREAT | O_CLOEXEC)
        guard file >= 0 else { throw POSIXError.of(errno) }
        Glibc.close(file)
    }

    /// Moves the contents of the `-wal` file into the database file, and closes the store.
    func close() throws {
        pages.close()
        try pool.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
        try pool.close()
    }

    /// Closes the store, and renames the database file and SQLite's other files. The renamed files replace files that
    /// were set aside earlier.
    ///
    /// - Returns: The new path of the database file.
    func setAside() throws -> String {
        pages.close()
        try pool.close()
        return try Self.setAside(path)
    }

    private static func setAside(_ path: String) throws -> String {
        let aside = path + ".damaged"
        for end in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: path + end) {
            if FileManager.default.fileExists(atPath: aside + end) {
                try FileManager.default.removeItem(atPath: aside + end)
            }
            try FileManager.default.moveItem(atPath: path + end, toPath: aside + end)
        }
        return aside
    }
}

extension POSIXError {
    fileprivate static func of(_ code: CInt) -> any Error {
        POSIXErrorCode(rawValue: code).map { POSIXError($0) } ?? DatabaseError(resultCode: .SQLITE_CANTOPEN)
    }
}

extension Error {
    /// Whether the error means that the SQLite file is damaged or of another version.
    var isDamage: Bool {
        guard let error = self as? DatabaseError else { return self is Schema.OtherVersion }
        return [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode)
    }
}

/// Reads one page of an inbox at a time while the writer works. Closing waits for the current read, because the read
/// needs an open connection. A reader is closed with its store, also when the courier replaces a damaged store.
final class PageReader: Sendable {
    struct Closed: Error, CustomStringConvertible {
        let description = "the courier closed or replaced its store: try again later"
    }

    private let pool: Mutex<DatabasePool?>

    init(_ pool: DatabasePool) { self.pool = Mutex(pool) }

    func read<Value: Sendable>(_ body: @Sendable (Database) throws -> Value) throws -> Value {
        try pool.withLock { pool in
            guard let pool else { throw Closed() }
            return try pool.read(body)
        }
    }

    func close() { pool.withLock { $0 = nil } }
}
