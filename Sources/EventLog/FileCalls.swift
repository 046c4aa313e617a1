import CSyncFileRange
import Dispatch
import Glibc

/// The calls that change what is on the disk, so that a test can make each of them fail.
@safe package struct FileCalls: Sendable {
    package typealias Write = @Sendable (CInt, UnsafePointer<iovec>, CInt, off_t) -> Int

    /// `pwritev`, which costs more than `pwrite` where there is one part.
    package var write: Write = { file, parts, count, offset in
        unsafe count == 1
            ? pwrite(file, parts.pointee.iov_base, parts.pointee.iov_len, offset)
            : pwritev(file, parts, count, offset)
    }
    package var sync: @Sendable (CInt) -> CInt = { fdatasync($0) }
    /// Has a part of a large file go to the disk, waits for that, and keeps nothing of it in memory: an `fdatasync` of all of
    /// it at once would hold up those of all logs beside it.
    package var writeBack: @Sendable (CInt, off_t, Int) -> Void = { file, offset, count in
        _ = sync_file_range(file, offset, off_t(count), UInt32(BELFRY_SYNC_FILE_RANGE_WRITE_AND_WAIT))
        posix_fadvise(file, offset, off_t(count), POSIX_FADV_DONTNEED)
    }
    package var truncate: @Sendable (CInt, off_t) -> CInt = { ftruncate($0, $1) }
    /// A new file gets the mode of its folder.
    package var open: @Sendable (UnsafePointer<CChar>, CInt) -> CInt = { path, flags in
        guard flags & O_CREAT != 0 else { return unsafe Glibc.open(path, flags) }
        return unsafe DataMode(of: LogDirectory.split(String(cString: path)).folder).open(path, flags)
    }
    /// `fsync`: for folders, and for files that are small.
    package var syncAll: @Sendable (CInt) -> CInt = { fsync($0) }
    package var makeFolder: @Sendable (UnsafePointer<CChar>) -> CInt = { unsafe mkdir($0, 0o700) }
    package var rename: @Sendable (UnsafePointer<CChar>, UnsafePointer<CChar>) -> CInt = { unsafe Glibc.rename($0, $1) }
    package var unlink: @Sendable (UnsafePointer<CChar>) -> CInt = { unsafe Glibc.unlink($0) }
    /// Makes the queue that a log forces its bytes to the disk on.
    package var makeQueue: @Sendable () -> any SyncQueue = { DispatchQueue(label: "belfry.eventlog.sync") }
    /// Makes a queue for work that nobody waits for: it may take long, and must not be in the way.
    package var makeBackgroundQueue: @Sendable () -> any SyncQueue = { DispatchQueue(label: "belfry.background") }
    /// How much of one processor such work takes, and how much of the time it keeps the disk busy, from 0 to 1; nil: all
    /// that it gets.
    ///
    /// It works a little and sleeps a while, at the usual priority. A thread of a low one that holds a lock of the system,
    /// such as that of its process's memory, keeps it as long as others want the processor.
    package var backgroundShare: Double? = 0.1

    package init() {}

    static let system = FileCalls()
}

/// Where a log waits for the disk: a queue of its own, or a simulation's.
package protocol SyncQueue: Sendable {
    func later(after delay: Duration, _ work: @escaping @Sendable () -> Void)
    /// Does it behind what was asked for before, and returns when it is done.
    func now(_ work: () -> Void)
}

extension DispatchQueue: SyncQueue {
    package func later(after delay: Duration, _ work: @escaping @Sendable () -> Void) {
        guard delay > .zero else { return async(execute: work) }
        asyncAfter(deadline: .now() + .microseconds(Int(delay.wholeMicroseconds)), execute: work)
    }

    package func now(_ work: () -> Void) { sync(execute: work) }
}
