import CSQLiteConfig
import Foundation
import GRDB
import Synchronization
import Time

/// The records, zones, subscriptions and devices that a changes log describes, in an SQLite file (WAL).
///
/// The file is a projection: all of it can be made again from the log, as long as the log has its first event. One
/// ``RecordWriter`` applies the log's events. Any number of threads read. Each read sees one state of the store,
/// between two calls of the writer. A read for a client names the database, or the user of a container, whose rows it
/// reads. No other parameter leads to the rows of another database or user.
package final class RecordStore: Sendable {
    package let path: String
    package let log: LogIdentity
    /// The writer's connection.
    let writing: DatabaseQueue
    private let readers: ReadConnections
    let searchLimits: SearchLimits
    /// How many bytes the records, subscriptions or zones of one answer may have together. Of records, only the fields
    /// count.
    package let answerBytesMax: Int
    /// The indexes that queries asked for since the writer last looked.
    let wantedIndexes = Mutex<Set<FieldIndex>>([])

    /// The default number of threads that read at once.
    package static let readersMax = 4

    /// Opens the store of a log, or makes an empty store.
    ///
    /// - Parameters:
    ///   - path: The file, in an existing folder. SQLite keeps two more files beside it.
    ///   - readersMax: How many threads read at once. Further threads wait.
    /// - Throws: ``RecordStoreError``. If it `needsRebuild`, remove the files and open again.
    package init(
        path: String, log: LogIdentity, readersMax: Int = RecordStore.readersMax,
        searchLimits: SearchLimits = SearchLimits(), answerBytesMax: Int = 16 << 20
    ) throws(RecordStoreError) {
        (self.path, self.log, self.searchLimits, self.answerBytesMax) = (path, log, searchLimits, answerBytesMax)
        do {
            try StoreFiles.prepare(path)
            writing = try DatabaseQueue(path: path, configuration: RecordStore.configuration)
            readers = ReadConnections(path: path, max: readersMax)
            try writing.write { db in try Schema.prepare(db, path: path, log: log) }
        } catch { throw RecordStoreError(error, path: path) }
    }

    /// With `synchronous = NORMAL`, a power cut may remove the last events from the store. They are then applied again.
    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.label = "records"
        configuration.journalMode = .wal
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { db in
            try db.execute(
                sql: "PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16384; PRAGMA wal_autocheckpoint = 4000")
        }
        return configuration
    }

    /// Makes SQLite stop counting the memory that it uses. All threads share the lock of this count, and with it two
    /// queries at a time are a quarter to a half slower.
    ///
    /// Call this function before the program uses SQLite. Later calls have no effect.
    package static func turnOffMemoryStatistics() { _ = belfry_turn_off_memory_statistics() }

    /// Moves all content into one file and closes the store. If the store has a writer, close the writer instead.
    package func close() throws(RecordStoreError) {
        readers.close()
        do {
            try writing.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
            try writing.close()
        } catch { throw RecordStoreError(error, path: path) }
    }

    /// Reads one state of the store.
    func read<Value>(_ body: (ReadConnection) throws -> Value) throws(RecordStoreError) -> Value {
        do { return try readers.read(body) } catch { throw RecordStoreError(error, path: path) }
    }

    /// Reads for a client, which may ask for things that do not exist.
    func readForClient<Value>(
        within limit: ReadLimit = .none, _ body: (ReadConnection) throws -> Value
    ) throws(RecordReadError) -> Value {
        do { return try readers.read(within: limit, body) } catch let error as RecordReadError { throw error } catch {
            switch error as? ReadStop {
            case .cancelled: throw .cancelled
            case .tookTooLong: throw .tookTooLong(lacksIndex: false)
            case nil: throw .store(RecordStoreError(error, path: path))
            }
        }
    }
}

// MARK: - Position in the log

extension RecordStore {
    /// The last event whose effect is in the store, and the time of its batch.
    package struct Applied: Sendable, Hashable {
        /// 0 before the first event.
        package let sequence: UInt64
        package let time: Instant
    }

    package var applied: Applied {
        get throws(RecordStoreError) { try read { try Applied($0) } }
    }
}

extension RecordStore.Applied {
    init(_ db: some SQLConnection) throws {
        sequence = UInt64(try Facts.number(.applied, db))
        time = Instant(microseconds: try Facts.number(.appliedTime, db))
    }
}

// MARK: - Copies

extension RecordStore {
    /// Writes a copy of one state of a store to a new file, with which another gateway of the same log can start.
    /// Meanwhile the store's writer and readers continue, in any process.
    ///
    /// - Parameters:
    ///   - path: The store's file.
    ///   - target: A path at which no file exists. If copying fails, no file is made at this path. A partial copy may
    ///     stay beside it, which the next copy to the same path removes.
    /// - Throws: ``RecordStoreError``, also if a file exists at `target`.
    package static func copy(_ path: String, to target: String) throws(RecordStoreError) {
        let part = target + ".part"
        let source = try openForCopying(path)
        do {
            guard !FileManager.default.fileExists(atPath: target) else { throw POSIXError(.EEXIST) }
            try StoreFiles.remove(part)
            // SQLite accepts an empty file like a missing file, and does not change its permissions.
            try StoreFiles.prepare(part)
            try source.writeWithoutTransaction { db in
                try db.execute(sql: "VACUUM INTO ?", arguments: [part])
            }
            try source.close()
            try FileManager.default.moveItem(atPath: part, toPath: target)
        } catch let error as DatabaseError where error.isDamage {
            throw RecordStoreError(error, path: path)
        } catch { throw RecordStoreError(error, path: target) }
    }

    private static func openForCopying(_ path: String) throws(RecordStoreError) -> DatabaseQueue {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(5)
        do { return try DatabaseQueue(path: path, configuration: configuration) } catch {
            throw RecordStoreError(error, path: path)
        }
    }
}
