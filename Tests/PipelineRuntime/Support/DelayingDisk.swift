import EventLog
import Foundation
import Synchronization

/// A disk that delays the work that is scheduled on its queues, such as syncs, until the test calls
/// ``runDelayedWork()``. Then the newest work runs first. Work that its caller waits for runs at once.
final class DelayingDisk: Sendable {
    private struct State {
        var works: [@Sendable () -> Void] = []
        var delaysWork = true
        /// The calls so far, in order: `write PATH` for a write, the file's path for a sync, and the new path for a
        /// rename.
        var doneCalls: [String] = []
    }

    private let state = Mutex(State())

    var delayedCount: Int { state.withLock { $0.works.count } }
    var doneCalls: [String] { state.withLock { $0.doneCalls } }

    /// Runs the delayed work, the newest first. Work that comes later is not delayed.
    func runDelayedWork() {
        let works = state.withLock { state in
            state.delaysWork = false
            return state.works
        }
        for work in works.reversed() { work() }
    }

    var calls: FileCalls {
        var calls = FileCalls()
        calls.makeQueue = { DelayingQueue(disk: self) }
        calls.makeBackgroundQueue = { DelayingQueue(disk: self) }
        calls.write = { descriptor, parts, count, offset in
            self.note("write " + DelayingDisk.path(of: descriptor))
            return pwritev(descriptor, parts, count, offset)
        }
        calls.sync = { descriptor in
            self.note(DelayingDisk.path(of: descriptor))
            return 0
        }
        calls.rename = { old, new in
            self.note(String(cString: new))
            return rename(old, new)
        }
        return calls
    }

    fileprivate func delayOrRun(_ work: @escaping @Sendable () -> Void) {
        let isDelayed = state.withLock { state in
            if state.delaysWork { state.works.append(work) }
            return state.delaysWork
        }
        if !isDelayed { work() }
    }

    private func note(_ call: String) { state.withLock { $0.doneCalls.append(call) } }

    private static func path(of descriptor: CInt) -> String {
        var path = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/fd/\(descriptor)", &path, path.count)
        return String(decoding: path.prefix(max(count, 0)).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

private struct DelayingQueue: SyncQueue {
    let disk: DelayingDisk

    func schedule(after delay: Duration, _ work: @escaping @Sendable () -> Void) { disk.delayOrRun(work) }
    func runAndWait(_ work: () -> Void) { work() }
}
