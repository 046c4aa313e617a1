import Glibc

/// Locks a log against a second writer in any process. The lock is released when this object is deallocated.
final class WriterLock {
    private let file: OpenFile

    init(_ name: String, _ directory: LogDirectory) throws(EventLogError) {
        file = try OpenFile(directory.lockPath, O_RDWR | O_CREAT, calls: directory.calls)
        guard tryLock() else {
            guard errno == EWOULDBLOCK else { throw .lastFailure("lock", file.path) }
            throw .alreadyOpen(name: name, directory: directory.path, process: try WriterLock.processNumber(in: file))
        }
        try writeProcessNumber()
    }

    /// Tries for a few milliseconds, because ``EventLogs/writer(ofLogAt:)`` may hold the lock for a moment.
    ///
    /// - Returns: Whether this process holds the lock now.
    private func tryLock() -> Bool {
        for _ in 0..<5 {
            if uninterrupted({ flock(file.descriptor, LOCK_EX | LOCK_NB) }) == 0 { return true }
            guard errno == EWOULDBLOCK else { return false }
            usleep(1_000)
        }
        return uninterrupted({ flock(file.descriptor, LOCK_EX | LOCK_NB) }) == 0
    }

    /// Unlocks explicitly: between fork and exec, a child process has a copy of the descriptor, which would keep the
    /// lock.
    deinit { _ = flock(file.descriptor, LOCK_UN) }

    private func writeProcessNumber() throws(EventLogError) {
        var text = "\(getpid())\n"
        let count = text.utf8.count
        let written = text.withUTF8 { unsafe pwrite(file.descriptor, $0.baseAddress, $0.count, 0) }
        guard written == count, ftruncate(file.descriptor, off_t(count)) == 0 else {
            throw .lastFailure("write", file.path)
        }
    }

    /// The process number in a lock file; nil if the file does not begin with a number.
    fileprivate static func processNumber(in file: OpenFile) throws(EventLogError) -> Int32? {
        let text = String(decoding: try file.bytes(32, at: 0), as: UTF8.self)
        return Int32(text.prefix { $0.isNumber })
    }
}

extension EventLogs {
    /// The process that has a log open for writing; nil if no process has it open, or if the process is unknown.
    ///
    /// The call may lock the log for a moment. A writer that opens the log at this moment waits.
    package static func writer(ofLogAt directory: String) throws(EventLogError) -> Int32? {
        let path = LogDirectory(path: directory).lockPath
        guard unsafe access(path, F_OK) == 0 else { return nil }
        let file = try OpenFile(path, O_RDONLY)
        guard uninterrupted({ flock(file.descriptor, LOCK_SH | LOCK_NB) }) != 0 else {
            _ = flock(file.descriptor, LOCK_UN)
            return nil
        }
        return errno == EWOULDBLOCK ? try WriterLock.processNumber(in: file) : nil
    }
}
