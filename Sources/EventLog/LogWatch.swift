import Glibc
import Time

/// Waits with inotify until the contents of a log's folder change. The folder may be made later.
final class LogWatch {
    private let descriptor: CInt
    private let directory: String
    private var watched: String?

    init(_ directory: String) throws(EventLogError) {
        descriptor = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
        self.directory = directory
        guard descriptor >= 0 else { throw .lastFailure("watch", directory) }
    }

    deinit {
        close(descriptor)
    }

    /// Waits for a change since the previous call. Returns false after the timeout; a nil timeout waits without a
    /// limit.
    ///
    /// Returns true at once on the first call if the folder exists, because earlier changes are unknown.
    func wait(timeout: Duration?) throws(EventLogError) -> Bool {
        if try beginWatching() { return true }
        let deadline = timeout.map { ContinuousClock.now.advanced(by: $0) }
        while try waitUntilReadable(by: deadline) {
            let isFolderLost = try drain()
            if watched == directory, !isFolderLost { return true }
            watched = nil
            if try beginWatching() { return true }
        }
        return false
    }

    /// Watches the folder, or its nearest existing parent. True if the folder itself is watched now, but was not
    /// before.
    private func beginWatching() throws(EventLogError) -> Bool {
        if watched != nil { return false }
        var candidate = directory
        while try !watch(candidate) { candidate = LogWatch.parent(of: candidate) }
        // A folder on the path may have been made after it was found missing and before its parent was watched.
        while candidate != directory {
            let child = folder(below: candidate)
            guard try watch(child) else { break }
            candidate = child
        }
        watched = candidate
        return candidate == directory
    }

    private func watch(_ path: String) throws(EventLogError) -> Bool {
        let inFolder = IN_CREATE | IN_MOVED_TO | IN_ONLYDIR | IN_DELETE_SELF | IN_MOVE_SELF
        let mask = UInt32(path == directory ? inFolder | IN_MODIFY : inFolder)
        if unsafe inotify_add_watch(descriptor, path, mask) >= 0 { return true }
        guard errno == ENOENT || errno == ENOTDIR, path != "/", path != "." else {
            throw .lastFailure("watch", path)
        }
        return false
    }

    /// Returns false at the deadline.
    private func waitUntilReadable(by deadline: ContinuousClock.Instant?) throws(EventLogError) -> Bool {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while true {
            let count = unsafe poll(&request, 1, LogWatch.milliseconds(until: deadline))
            if count > 0 { return true }
            guard count == 0 || errno == EINTR else { throw .lastFailure("watch", directory) }
            if let deadline, ContinuousClock.now >= deadline { return false }
        }
    }

    /// Reads all waiting inotify events. Returns true if the watched folder was moved or deleted.
    private func drain() throws(EventLogError) -> Bool {
        var isFolderLost = false
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 8)
        defer { unsafe room.deallocate() }
        while true {
            let count = uninterrupted { unsafe read(descriptor, room.baseAddress, room.count) }
            guard count > 0 else {
                guard count == 0 || errno == EAGAIN else { throw .lastFailure("watch", directory) }
                return isFolderLost
            }
            if unsafe LogWatch.includesFolderLoss(UnsafeRawBufferPointer(rebasing: room[..<count])) {
                isFolderLost = true
            }
        }
    }

    /// Whether one of the inotify events says that the watched folder was moved or deleted.
    ///
    /// inotify(7): an event has four fields of four bytes each: watch, mask, cookie and length. A name of this length
    /// follows.
    private static func includesFolderLoss(_ events: UnsafeRawBufferPointer) -> Bool {
        var (offset, mask) = (0, UInt32(0))
        while offset + 16 <= events.count {
            unsafe mask |= events.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
            unsafe offset += 16 + Int(events.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self))
        }
        return mask & UInt32(IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED) != 0
    }

    private static func milliseconds(until deadline: ContinuousClock.Instant?) -> CInt {
        guard let deadline else { return -1 }
        let left = (deadline - ContinuousClock.now).wholeMicroseconds
        return CInt(clamping: max(left, 0) / 1000 + (left > 0 ? 1 : 0))
    }

    /// The next folder on the path from a parent to the log's folder.
    private func folder(below parent: String) -> String {
        let isInParent = parent != "." || directory.hasPrefix("./")
        let skipped = parent == "/" ? 1 : isInParent ? parent.count + 1 : 0
        let start = directory.index(directory.startIndex, offsetBy: skipped)
        return String(directory[..<(directory[start...].firstIndex(of: "/") ?? directory.endIndex)])
    }

    private static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
