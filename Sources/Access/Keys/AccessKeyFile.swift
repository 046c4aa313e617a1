import EventLog
import Glibc
import Time

/// The file with the keys of a web gateway. Several gateways may use the same file, or a copy of it.
///
/// A change replaces the file by a new one, so a reader gets either the old keys or the new keys.
package struct AccessKeyFile: Hashable, Sendable {
    package let path: String

    static let bytesMax = 16 << 20

    package init(path: String) { self.path = path }

    /// - Returns: The keys; nil if there is no file.
    package func read() throws(AccessKeyError) -> AccessKeys? { try load()?.keys }

    /// The keys, and the stamp of the file that contains them; nil if there is no file.
    func load() throws(AccessKeyError) -> (keys: AccessKeys, stamp: FileStamp)? {
        let file = uninterrupted { open(path, O_RDONLY | O_CLOEXEC) }
        guard file >= 0 else {
            guard errno == ENOENT else { throw failed("open") }
            return nil
        }
        defer { close(file) }
        // The open file's own status: the path may lead to another file by now.
        var status = stat()
        guard fstat(file, &status) == 0 else { throw failed("read") }
        guard status.st_mode & 0o077 == 0 else { throw .accessibleToOthers(path) }
        let bytes = try bytes(of: file)
        do { return (try AccessKeys(bytes), FileStamp(status)) } catch {
            throw .unreadable(path, reason: error.reason)
        }
    }

    private func bytes(of file: CInt) throws(AccessKeyError) -> [UInt8] {
        var (bytes, piece) = ([UInt8](), [UInt8](repeating: 0, count: 64 << 10))
        while true {
            let count = uninterrupted { Glibc.read(file, &piece, piece.count) }
            guard count >= 0 else { throw failed("read") }
            if count == 0 { return bytes }
            bytes += piece[..<count]
            guard bytes.count <= AccessKeyFile.bytesMax else {
                throw .unreadable(path, reason: "it has more than \(AccessKeyFile.bytesMax) bytes")
            }
        }
    }

    fileprivate func failed(_ verb: String) -> AccessKeyError { .failed(verb: verb, path: path, errno: errno) }
}

// MARK: - Edits

extension AccessKeyFile {
    /// Changes the keys. Concurrent edits, also by several processes, run one after the other.
    ///
    /// - Parameter newKeys: The keys to begin with if there is no file; nil if a missing file is an error.
    /// - Returns: The result of `change`. The change is durable.
    /// - Throws: The error of `change`, or an error of the file. The file is then unchanged, with one exception: if the
    ///   folder cannot be synchronized, the file has the new keys, but a power cut may bring the old keys back.
    package func edit<Result>(
        orBeginningWith newKeys: @autoclosure () -> AccessKeys? = nil,
        _ change: (inout AccessKeys) throws(AccessKeyError) -> Result
    ) throws(AccessKeyError) -> Result {
        let lock = try lock()
        defer { close(lock) }
        guard var keys = try read() ?? newKeys() else { throw .missing(path) }
        let result = try change(&keys)
        try replace(by: keys.text)
        return result
    }

    /// Takes an exclusive lock, which is held until the returned descriptor is closed. The lock is on a separate file,
    /// because each edit replaces the key file.
    private func lock() throws(AccessKeyError) -> CInt {
        let lock = AccessKeyFile(path: path + ".lock")
        let file = uninterrupted { DataMode.owner.open(lock.path, O_RDWR | O_CREAT | O_CLOEXEC) }
        guard file >= 0 else { throw lock.failed("open") }
        guard uninterrupted({ flock(file, LOCK_EX) }) == 0 else {
            defer { close(file) }
            throw lock.failed("lock")
        }
        return file
    }

    private func replace(by text: String) throws(AccessKeyError) {
        let draft = AccessKeyFile(path: path + ".new")
        // A crash may have left a draft, with any owner and mode.
        unlink(draft.path)
        do throws(AccessKeyError) {
            try draft.create(containing: text)
            guard rename(draft.path, path) == 0 else { throw failed("write") }
        } catch {
            unlink(draft.path)
            throw error
        }
        try synchronizeFolder()
    }

    private func create(containing text: String) throws(AccessKeyError) {
        let file = uninterrupted { DataMode.owner.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC) }
        guard file >= 0 else { throw failed("write") }
        defer { close(file) }
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = uninterrupted { rest.withUnsafeBytes { write(file, $0.baseAddress, $0.count) } }
            guard count > 0 else { throw failed("write") }
            rest = rest.dropFirst(count)
        }
        guard uninterrupted({ fsync(file) }) == 0 else { throw failed("write") }
    }

    /// Makes the name of the new file durable.
    private func synchronizeFolder() throws(AccessKeyError) {
        let name = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        let folder = uninterrupted { open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        guard folder >= 0 else { throw failed("synchronize the folder of") }
        defer { close(folder) }
        guard uninterrupted({ fsync(folder) }) == 0 else { throw failed("synchronize the folder of") }
    }
}

/// Tells one version of a file from another without reading it.
struct FileStamp: Hashable, Sendable {
    private let device: dev_t
    private let inode: ino_t
    private let size: off_t
    private let modified: [Int]

    init(_ status: stat) {
        (device, inode, size) = (status.st_dev, status.st_ino, status.st_size)
        modified = [status.st_mtim, status.st_ctim].flatMap { [$0.tv_sec, $0.tv_nsec] }
    }
}
