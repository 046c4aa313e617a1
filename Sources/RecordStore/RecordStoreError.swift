import GRDB
import Time

/// Why a record store cannot be opened, read or written.
package enum RecordStoreError: Error, Hashable, Sendable {
    /// The file is damaged, or is not a record store.
    case damaged(path: String, reason: String)
    /// The file has another version of the tables, because another version of Belfry made it.
    case otherVersion(path: String, found: Int, known: Int)
    /// The file holds the content of another log.
    case otherLog(path: String, found: String, expected: LogIdentity)
    /// The given events do not follow the last applied event: events between them are missing.
    case missingEvents(applied: UInt64, first: UInt64)
    /// An event of the log is not JSON, or does not have the form of its type.
    case badEvent(sequence: UInt64, reason: String)
    /// Another process uses the store: a gateway, or a command that makes the store again. `process` is the ID of the
    /// other process; nil if it is not known.
    case inUse(folder: String, process: Int32?)
    /// A file of the store cannot be made, read or written: the disk is full, the file is locked, …
    case unusable(path: String, reason: String)

    /// Whether the store has to be made again from its log.
    package var needsRebuild: Bool {
        switch self {
        case .damaged, .otherVersion, .otherLog: true
        case .missingEvents, .badEvent, .inUse, .unusable: false
        }
    }
}

extension RecordStoreError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .damaged(let path, let reason): "\(path) is damaged (\(reason)): \(RecordStoreError.remedy)"
        case .otherVersion(let path, let found, let known):
            "\(path) is a record store of version \(found), but this Belfry reads version \(known): "
                + RecordStoreError.remedy
        case .otherLog(let path, let found, let expected):
            "\(path) holds the records of log \(found), not of log \(expected): \(RecordStoreError.remedy)"
        case .missingEvents(let applied, let first):
            "the record store has applied event \(applied) and got event \(first) next: read the log from \(applied + 1)"
        case .badEvent(let sequence, let reason): "event \(sequence) of the changes log: \(reason)"
        case .inUse(let folder, let process):
            "\(folder) is used by \(process.map { "process \($0)" } ?? "another process"): stop the `belfry up`, the gateway "
                + "or the `belfry store rebuild` that runs there; a second gateway needs a folder of its own (api.store)"
        case .unusable(let path, let reason): "\(path): \(reason)"
        }
    }

    private static let remedy = "`belfry store rebuild` makes it again from the log"
}

extension RecordStoreError {
    /// - Parameter path: The store's file.
    init(_ error: any Error, path: String) {
        switch error {
        case let error as RecordStoreError: self = error
        case let error as DatabaseError where error.isDamage: self = .damaged(path: path, reason: "\(error)")
        default: self = .unusable(path: path, reason: "\(error)")
        }
    }
}

extension DatabaseError {
    var isDamage: Bool { [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(resultCode) }
}
