import EventLog
import Glibc
import Synchronization

/// A disk that is full while ``isFull`` is true.
package final class FillableDisk: Sendable {
    private let full = Mutex(false)

    package init() {}

    package var isFull: Bool {
        get { full.withLock { $0 } }
        set { full.withLock { $0 = newValue } }
    }

    /// The real calls, except that each write fails with ENOSPC while the disk is full.
    package var calls: FileCalls {
        var calls = FileCalls()
        let real = calls.write
        calls.write = { [self] file, parts, count, offset in
            guard isFull else { return real(file, parts, count, offset) }
            errno = ENOSPC
            return -1
        }
        return calls
    }
}
