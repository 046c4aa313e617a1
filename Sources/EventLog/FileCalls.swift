import CSyncFileRange
import Dispatch
import Glibc

/// The system calls that change the disk, and the queues for slow work. Tests replace them, for example with calls that
/// fail.
@safe package struct FileCalls: Sendable {
    package typealias Write = @Sendable (CInt, UnsafePointer<iovec>, CInt, off_t) -> Int

    /// `pwritev`; for a single part `pwrite`, which is cheaper.
    package var write: Write = { file, parts, count, offset in
        unsafe count == 1
            ? pwrite(file, parts.pointee.iov_base, parts.pointee.iov_len, offset)
            : pwritev(file, parts, count, offset)
    }
    package var sync: @Sendable (CInt) -> CInt = { fdatasync($0) }
    /// Writes a part of a large file to the disk, waits, and drops the part from the page cache. One `fdatasync` of the
    /// whole file would delay the syncs of all logs on the disk.
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
    /// `fsync`, for folders and small files.
    package var syncAll: @Sendable (CInt) -> CInt = { fsync($0) }
    package var makeFolder: @Sendable (UnsafePointer<CChar>) -> CInt = { unsafe mkdir($0, 0o700) }
    package var rename: @Sendable (UnsafePointer<CChar>, UnsafePointer<CChar>) -> CInt = { unsafe Glibc.rename($0, $1) }
    package var unlink: @Sendable (UnsafePointer<CChar>) -> CInt = { unsafe Glibc.unlink($0) }
    /// Makes the queue on which a log calls ``sync``.
    package var makeQueue: @Sendable () -> any SyncQueue = { DispatchQueue(label: "belfry.eventlog.sync") }
    /// Makes a queue for long background work.
    package var makeBackgroundQueue: @Sendable () -> any SyncQueue = { DispatchQueue(label: "belfry.background") }
    /// The share of one processor, and of the disk's time, that background work uses, from 0 to 1; nil for no limit.
    ///
    /// Background work runs at normal priority and pauses regularly. A low priority would be worse: while a thread with
    /// low priority waits for the processor, it may hold a system lock, such as the lock of the process's memory.
    package var backgroundShare: Double? = 0.1

    package init() {}

    static let system = FileCalls()
}

/// A serial queue on which a log waits for the disk. Simulations have their own implementation.
package protocol SyncQueue: Sendable {
    func schedule(after delay: Duration, _ work: @escaping @Sendable () -> Void)
    /// Runs `work` and returns when `work` is done. Earlier work runs first, unless it still waits for its delay.
    func runAndWait(_ work: () -> Void)
}

extension DispatchQueue: SyncQueue {
    package func schedule(after delay: Duration, _ work: @escaping @Sendable () -> Void) {
        guard delay > .zero else { return async(execute: work) }
        asyncAfter(deadline: .now() + .microseconds(Int(delay.wholeMicroseconds)), execute: work)
    }

    package func runAndWait(_ work: () -> Void) { sync(execute: work) }
}
