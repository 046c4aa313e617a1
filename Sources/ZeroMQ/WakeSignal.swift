import CZeroMQ
import Glibc
import Synchronization

/// Wakes a thread that polls, from any other thread.
///
/// Several signals before a ``clear()`` cause one wake-up. The sender enqueues first, then calls ``signal()``. The
/// woken thread calls ``clear()`` first, then reads the queue. So the thread misses no item of the queue.
package final class WakeSignal: Sendable {
    /// Readable while a signal is pending; add it to a ``ZMQPoller``.
    package let fileDescriptor: Int32
    private let writeEnd: Int32
    private let isPending = Atomic(false)

    /// - Throws: `EMFILE` or `ENFILE` when there are no more file descriptors.
    package init() throws(ZMQError) {
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe2(&ends, O_NONBLOCK | O_CLOEXEC) == 0 else {
            throw ZMQError(code: errno, operation: "create pipe")
        }
        fileDescriptor = ends[0]
        writeEnd = ends[1]
    }

    deinit {
        close(fileDescriptor)
        close(writeEnd)
    }

    /// Wakes the thread. Never blocks.
    package func signal() {
        guard !isPending.exchange(true, ordering: .acquiringAndReleasing) else { return }
        var byte: UInt8 = 1
        // A full pipe (EAGAIN) wakes the thread just as a written byte does.
        while unsafe write(writeEnd, &byte, 1) < 0, errno == EINTR {}
    }

    /// Clears all signals so far.
    package func clear() {
        drain()
        // This exchange must come last. If it came first, `drain()` could read the byte of a signal that came after the
        // exchange. Then `isPending` would stay set, and later signals would write no byte.
        _ = isPending.exchange(false, ordering: .acquiringAndReleasing)
    }

    private func drain() {
        unsafe withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
            while true {
                let count = unsafe read(fileDescriptor, buffer.baseAddress, buffer.count)
                if count == buffer.count || (count < 0 && errno == EINTR) { continue }
                return
            }
        }
    }
}
