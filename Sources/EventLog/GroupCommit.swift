import Glibc
import Synchronization

/// Forces a log's bytes to the disk, on a queue of its own, so that the writer's owner never waits.
///
/// One `fdatasync` covers all that was written before it began; what is written meanwhile waits for the next.
final class GroupCommit: Sendable {
    /// A batch: how many were written before it, and the log's last sequence after it.
    private struct Mark {
        var batches: UInt64
        var sequence: UInt64
    }

    private struct State {
        var file: OpenFile
        var written: Mark
        var durable: Mark
        var isScheduled = false
        var failure: EventLogError?
        var onDurable: (@Sendable (UInt64) -> Void)?

        var isDirty: Bool { written.batches != durable.batches && failure == nil }
    }

    private let policy: SyncPolicy
    private let calls: FileCalls
    private let queue: any SyncQueue
    private let state: Mutex<State>

    /// - Parameter sequence: The last of the log, which must be durable by now.
    init(_ file: OpenFile, sequence: UInt64, policy: SyncPolicy, calls: FileCalls) {
        let mark = Mark(batches: 0, sequence: sequence)
        self.policy = policy
        self.calls = calls
        queue = calls.makeQueue()
        state = Mutex(State(file: file, written: mark, durable: mark))
    }

    var failure: EventLogError? { state.withLock { $0.failure } }

    /// See ``EventLogWriter/durableSequence``.
    var durableSequence: UInt64 {
        state.withLock { policy == .always || $0.failure != nil ? $0.durable.sequence : $0.written.sequence }
    }

    func onDurable(_ body: @escaping @Sendable (UInt64) -> Void) {
        state.withLock { $0.onDurable = body }
    }

    /// Takes note of one more batch.
    func written(through sequence: UInt64) {
        let mustSchedule = state.withLock { state in
            state.written = Mark(batches: state.written.batches + 1, sequence: sequence)
            guard policy != .never, !state.isScheduled else { return false }
            state.isScheduled = true
            return true
        }
        if mustSchedule { schedule() }
    }

    /// Ends a segment: it must be durable before a later one exists, or the loss of power could tear it in the middle
    /// of the log. Waits for the disk, once a segment; under ``SyncPolicy/never`` nothing waits.
    func finish() throws(EventLogError) {
        if policy != .never { try flush() }
    }

    /// Goes on to a new segment.
    func move(to file: OpenFile) {
        let old = state.withLock { state in
            defer { state.file = file }
            return state.file
        }
        if policy == .never { queue.later(after: .zero) { self.synchronize(old) } }
    }

    /// Waits until all that was written is durable, whatever the policy.
    func flush() throws(EventLogError) {
        queue.now { pass() }
        if let failure { throw failure }
    }

    private func schedule() {
        switch policy {
        case .always: queue.later(after: .zero) { self.run() }
        case .interval(let duration): queue.later(after: duration) { self.run() }
        case .never: break
        }
    }

    private func run() {
        pass()
        let isDirty = state.withLock { state in
            state.isScheduled = state.isDirty
            return state.isDirty
        }
        if isDirty { schedule() }
    }

    private func pass() {
        let work = state.withLock { $0.isDirty ? ($0.file, $0.written) : nil }
        guard let (file, mark) = work else { return }
        let isSynced = synchronize(file)
        let (onDurable, sequence) = state.withLock { state in
            if isSynced { state.durable = mark }
            return (policy == .always || !isSynced ? state.onDurable : nil, state.durable.sequence)
        }
        onDurable?(sequence)
    }

    @discardableResult
    private func synchronize(_ file: OpenFile) -> Bool {
        if uninterrupted({ calls.sync(file.descriptor) }) == 0 { return true }
        let failure = EventLogError.syncFailed(file: file.path, errno: errno)
        state.withLock { $0.failure = $0.failure ?? failure }
        return false
    }
}
