import EventLog
import Foundation
import GRDB
import Glibc
import PipelineKit
import Synchronization

/// The SQLite file: inboxes, what polls have yet to get, and where the courier stands in the logs that all of it is
/// made from. One connection writes, in WAL mode; a fetch reads beside it.
struct InboxStore: Sendable {
    let path: String
    /// For who writes; pages are read through ``pages``.
    let pool: DatabasePool
    let pages: PageReader

    /// Opens the file, or makes an empty one; one that is damaged or of another version is moved aside first.
    ///
    /// - Parameters:
    ///   - isDurable: Whether what is written is to survive the loss of power.
    ///   - mode: Of the file and the folders that are made.
    /// - Returns: The store, and the path that a damaged file has now.
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

    /// What SQLite kept beside a file that is gone must not become part of a new one.
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

    /// SQLite takes an empty file for a new database, and gives the files that it keeps beside it the same mode.
    private static func make(_ path: String, _ mode: DataMode) throws {
        let file = mode.open(path, O_RDWR | O_CREAT | O_CLOEXEC)
        guard file >= 0 else { throw POSIXError.of(errno) }
        Glibc.close(file)
    }

    /// Leaves all in one file, and lets go of it.
    func close() throws {
        pages.close()
        try pool.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
        try pool.close()
    }

    /// Lets go of the file, and moves it and what SQLite keeps beside it out of the way; one set aside before goes.
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
    /// Whether the file is no database of ours any more.
    var isDamage: Bool {
        guard let error = self as? DatabaseError else { return self is Schema.OtherVersion }
        return [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode)
    }
}

/// Reads pages beside the writer, one at a time. Connections must not be closed under a reader: closing waits for it.
final class PageReader: Sendable {
    struct Closed: Error {}

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
