import Foundation
import Glibc

/// The file of a store, and the files that SQLite keeps beside it.
package enum StoreFiles {
    private static let suffixes = ["", "-wal", "-shm"]
    // Only the Unix user that runs the gateway may read the records.
    private static let mode: mode_t = 0o600

    /// Removes a store, for example to make it again. No process may have the store open.
    package static func remove(_ path: String) throws {
        for suffix in suffixes { try removeFile(path + suffix) }
    }

    /// Replaces the store at `path` by the store at `other`. No process may have either store open. A crash during the
    /// call may leave no store at `path`.
    package static func replace(_ path: String, by other: String) throws {
        try remove(path)
        guard rename(other, path) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        try remove(other)
    }

    /// The size of all files of a store in bytes. Files that do not exist count 0.
    static func size(_ path: String) -> UInt64 {
        suffixes.reduce(0) { sum, suffix in
            var status = stat()
            return stat(path + suffix, &status) == 0 ? sum + UInt64(status.st_size) : sum
        }
    }

    /// Makes an empty file, unless the file exists. SQLite treats an empty file as a new database. Files that SQLite
    /// left beside an earlier file are removed, so that they do not become part of the new database.
    static func prepare(_ path: String) throws {
        guard !FileManager.default.fileExists(atPath: path) else { return }
        try remove(path)
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, mode)
        guard file >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        Glibc.close(file)
    }

    private static func removeFile(_ path: String) throws {
        guard FileManager.default.fileExists(atPath: path) else { return }
        try FileManager.default.removeItem(atPath: path)
    }
}
