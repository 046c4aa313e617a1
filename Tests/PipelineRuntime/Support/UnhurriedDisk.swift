import EventLog
import Foundation
import Synchronization

/// A disk whose delayed work waits until the test calls ``goOn()``, and then runs in reverse order.
final class UnhurriedDisk: Sendable {
    private struct State {
        var works: [@Sendable () -> Void] = []
        var isHeld = true
        /// The calls that wrote files (`write …`), made them durable or renamed them.
        var done: [String] = []
    }

    private let state = Mutex(State())

    var waiting: Int { state.withLock { $0.works.count } }
    var done: [String] { state.withLock { $0.done } }

    func goOn() {
        let works = state.withLock { state in
            state.isHeld = false
            return state.works
        }
        for work in works.reversed() { work() }
    }

    var calls: FileCalls {
        var calls = FileCalls()
        calls.makeQueue = { UnhurriedQueue(disk: self) }
        calls.makeBackgroundQueue = { UnhurriedQueue(disk: self) }
        calls.write = { descriptor, parts, count, offset in
            self.note("write " + UnhurriedDisk.path(of: descriptor))
            return pwritev(descriptor, parts, count, offset)
        }
        calls.sync = { descriptor in
            self.note(UnhurriedDisk.path(of: descriptor))
            return 0
        }
        calls.rename = { old, new in
            self.note(String(cString: new))
            return rename(old, new)
        }
        return calls
    }

    fileprivate func take(_ work: @escaping @Sendable () -> Void) {
        let isHeld = state.withLock { state in
            if state.isHeld { state.works.append(work) }
            return state.isHeld
        }
        if !isHeld { work() }
    }

    private func note(_ path: String) { state.withLock { $0.done.append(path) } }

    private static func path(of descriptor: CInt) -> String {
        var path = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/fd/\(descriptor)", &path, path.count)
        return String(decoding: path.prefix(max(count, 0)).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

private struct UnhurriedQueue: SyncQueue {
    let disk: UnhurriedDisk

    func schedule(after delay: Duration, _ work: @escaping @Sendable () -> Void) { disk.take(work) }
    func runAndWait(_ work: () -> Void) { work() }
}
