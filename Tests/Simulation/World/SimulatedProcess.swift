import EventLog
import Foundation
import Glibc
import Synchronization
import TestSupport

/// A process from its start to its end. It may die in the middle of a system call.
final class SimulatedProcess: Sendable {
    private struct State {
        var isDead = false
        /// Whether a write or a sync has failed with an error that may end the host. An interrupted call and a short
        /// write do not count, because the host must continue after them.
        var hasFailed = false
        /// How many more calls the process makes before the call in which it dies. Nil if it will not die in a call.
        var callsToLive: Int?
        var work: [Work] = []
    }

    private struct Work {
        var queue: ObjectIdentifier
        var due: Duration
        /// Whether the caller asked for a delay. All work gets a random delay besides.
        var isDelayed: Bool
        var body: @Sendable () -> Void
    }

    private enum Verdict {
        case pass
        case fail(CInt)
        case partly
        case die
    }

    private let disk: SimulatedDisk
    private let time: SimulatedTime
    private let state = Mutex(State())

    init(_ disk: SimulatedDisk, _ time: SimulatedTime) {
        self.disk = disk
        self.time = time
    }

    var isDead: Bool { state.withLock { $0.isDead } }
    var hasFailed: Bool { state.withLock { $0.hasFailed || $0.isDead } }

    /// Ends the process and drops the work in its queues.
    func die() {
        let work = state.withLock { state in
            state.isDead = true
            defer { state.work = [] }
            return state.work
        }
        withExtendedLifetime(work) {}
    }

    func dieInACall(after calls: Int) { state.withLock { $0.callsToLive = calls } }

    /// Runs the work that is due in the process's queues.
    func runQueues() {
        while let work = next(where: { [time] in $0.due <= time.elapsed }) { work.body() }
    }

    private func next(where isDue: (Work) -> Bool) -> Work? {
        state.withLock { state in state.work.firstIndex(where: isDue).map { state.work.remove(at: $0) } }
    }

    var calls: FileCalls {
        var calls = FileCalls()
        calls.write = { self.write($0, $1, $2, $3) }
        calls.sync = { self.sync($0) }
        calls.truncate = { descriptor, size in
            guard self.countCall() else { return failed(EIO) }
            self.disk.noteSize(Int(size), of: descriptor)
            return ftruncate(descriptor, size)
        }
        calls.rename = { from, to in
            guard self.countCall() else { return failed(EIO) }
            self.disk.noteRename(String(cString: from), String(cString: to))
            return rename(from, to)
        }
        calls.open = { self.open($0, $1) }
        calls.unlink = { self.countCall() ? unlink($0) : failed(EIO) }
        calls.makeFolder = { self.countCall() ? mkdir($0, 0o755) : failed(EIO) }
        calls.syncAll = { file in
            guard self.countCall() else { return failed(EIO) }
            self.disk.noteSync(file)
            return 0
        }
        calls.makeQueue = { SimulatedQueue(self) }
        calls.makeBackgroundQueue = { SimulatedQueue(self) }
        calls.backgroundShare = nil
        return calls
    }

    // MARK: Calls

    private func open(_ path: UnsafePointer<CChar>, _ flags: CInt) -> CInt {
        guard countCall() else { return failed(EIO) }
        let isNew = flags & O_CREAT != 0 && access(path, F_OK) != 0
        let file = Glibc.open(path, flags, 0o644)
        guard file >= 0 else { return file }
        if isNew { disk.noteCreation(of: file) }
        if flags & O_TRUNC != 0 { disk.noteSize(0, of: file) }
        return file
    }

    private func write(_ file: CInt, _ parts: UnsafePointer<iovec>, _ count: CInt, _ offset: off_t) -> Int {
        let bytes = (0..<Int(count)).reduce(0) { $0 + parts[$1].iov_len }
        switch verdict(disk.failureOfWrite()) {
        case .pass: return pwritev(file, parts, count, offset)
        case .fail(let code): return failed(code)
        case .partly: return writePart(file, parts, count, offset, disk.part(of: bytes))
        case .die:
            _ = writePart(file, parts, count, offset, disk.part(of: bytes))
            return failed(EIO)
        }
    }

    /// Writes only the first `bytes` bytes of the parts.
    private func writePart(
        _ file: CInt, _ parts: UnsafePointer<iovec>, _ count: CInt, _ offset: off_t, _ bytes: Int
    ) -> Int {
        var left = bytes
        var shorter: [iovec] = []
        for index in 0..<Int(count) where left > 0 {
            let length = min(left, parts[index].iov_len)
            shorter.append(iovec(iov_base: parts[index].iov_base, iov_len: length))
            left -= length
        }
        return pwritev(file, shorter, CInt(shorter.count), offset)
    }

    private func sync(_ file: CInt) -> CInt {
        switch verdict(disk.failureOfSync()) {
        case .fail(let code): return failed(code)
        case .die: return failed(EIO)
        case .pass, .partly:
            disk.noteSync(file)
            return 0
        }
    }

    /// Counts a system call. False if the process is dead or dies in this call.
    private func countCall() -> Bool {
        if case .die = verdict(nil) { return false }
        return true
    }

    private func verdict(_ failure: Fault?) -> Verdict {
        state.withLock { state in
            if state.isDead { return .die }
            if let calls = state.callsToLive {
                state.callsToLive = calls - 1
                if calls == 0 {
                    disk.faults.note(.killedInACall)
                    state.isDead = true
                    return .die
                }
            }
            guard let failure else { return .pass }
            disk.faults.note(failure)
            switch failure {
            case .interrupted: return .fail(EINTR)
            case .shortWrite: return .partly
            default:
                state.hasFailed = true
                return .fail(failure == .diskFull ? ENOSPC : EIO)
            }
        }
    }
}

/// Sets `errno` as a failed call does.
private func failed<Result: SignedInteger>(_ code: CInt) -> Result {
    errno = code
    return -1
}

/// A queue for file work, such as the syncs of one log. The simulation decides when its work runs.
private final class SimulatedQueue: SyncQueue {
    private let process: SimulatedProcess

    init(_ process: SimulatedProcess) { self.process = process }

    func schedule(after delay: Duration, _ work: @escaping @Sendable () -> Void) {
        process.add(work, of: ObjectIdentifier(self), after: delay)
    }

    func runAndWait(_ work: () -> Void) {
        process.runAll(of: ObjectIdentifier(self))
        work()
    }
}

extension SimulatedProcess {
    fileprivate func add(_ body: @escaping @Sendable () -> Void, of queue: ObjectIdentifier, after delay: Duration) {
        let due = time.elapsed + delay + disk.randomDelay()
        state.withLock { state in
            guard !state.isDead else { return }
            state.work.append(Work(queue: queue, due: due, isDelayed: delay > .zero, body: body))
        }
    }

    fileprivate func runAll(of queue: ObjectIdentifier) {
        while let work = next(where: { $0.queue == queue && !$0.isDelayed }) { work.body() }
    }
}

extension SimulatedDisk {
    fileprivate func failureOfWrite() -> Fault? {
        state.withLock { state in
            guard state.isFaulty else { return nil }
            if state.writesUntilRoom > 0 {
                state.writesUntilRoom -= 1
                return .diskFull
            }
            switch state.random.below(700) {
            case 0:
                state.writesUntilRoom = state.random.below(3)
                return .diskFull
            case 1: return .writeFailed
            case 2..<22: return .shortWrite
            case 22..<42: return .interrupted
            default: return nil
            }
        }
    }

    fileprivate func failureOfSync() -> Fault? {
        state.withLock { state in
            guard state.isFaulty else { return nil }
            switch state.random.below(500) {
            case 0: return .syncFailed
            case 1..<10: return .interrupted
            default: return nil
            }
        }
    }

    fileprivate func randomDelay() -> Duration { state.withLock { .milliseconds($0.random.below(8)) } }

    fileprivate func part(of bytes: Int) -> Int { state.withLock { 1 + $0.random.below(bytes) } }

    fileprivate func noteSync(_ file: CInt) {
        var status = stat()
        guard fstat(file, &status) == 0 else { return }
        let path = path(of: file)
        state.withLock { state in
            if status.st_mode & S_IFMT == S_IFDIR {
                state.newFiles = state.newFiles.filter { ($0 as NSString).deletingLastPathComponent != path }
            } else {
                state.durable[path] = Int(status.st_size)
                state.newFiles.remove(path)
            }
        }
    }

    fileprivate func noteCreation(of file: CInt) {
        let path = path(of: file)
        state.withLock { state in
            state.durable[path] = 0
            state.newFiles.insert(path)
        }
    }

    fileprivate func noteSize(_ size: Int, of file: CInt) {
        let path = path(of: file)
        state.withLock { $0.durable[path] = min(size, $0.durable[path] ?? 0) }
    }

    fileprivate func noteRename(_ from: String, _ to: String) {
        state.withLock { state in
            state.durable[to] = state.durable.removeValue(forKey: from)
            if state.newFiles.remove(from) != nil { state.newFiles.insert(to) }
        }
    }
}
