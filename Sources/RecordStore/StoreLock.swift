import Glibc

/// Keeps the folder of a store for one process: a gateway, or a command that makes the store again. The lock is
/// released when this object is deallocated, or when the process ends.
package final class StoreLock: Sendable {
    private let descriptor: CInt

    /// - Throws: ``RecordStoreError/inUse(folder:process:)`` while another process, or another object of this process,
    ///   has the lock; ``RecordStoreError/unusable(path:reason:)`` if the lock's file cannot be opened or written.
    package init(folder: String) throws(RecordStoreError) {
        let path = "\(folder)/store.lock"
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .unusable(path: path, reason: String(cString: strerror(errno))) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw .inUse(folder: folder, process: Self.process(in: descriptor))
        }
        let text = "\(getpid())\n"
        guard pwrite(descriptor, text, text.utf8.count, 0) == text.utf8.count,
            ftruncate(descriptor, off_t(text.utf8.count)) == 0
        else { throw .unusable(path: path, reason: String(cString: strerror(errno))) }
    }

    /// Unlocks explicitly, because a child process that is just being started may still have a copy of the descriptor.
    deinit {
        guard descriptor >= 0 else { return }
        _ = flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    private static func process(in descriptor: CInt) -> Int32? {
        var bytes = [UInt8](repeating: 0, count: 32)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return Int32(String(decoding: bytes.prefix(max(0, count)).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
    }
}
