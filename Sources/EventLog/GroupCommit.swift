import Glibc
import Synchronization

/// Makes a log's batches durable on its own queue, so that an append within a segment does not wait for the disk.
///
/// One `fdatasync` covers all batches written before it began. Later batches wait for the next `fdatasync`.
final class GroupCommit: Sendable {
    /// A position in the log: the number of batches and the last sequence.
    private struct Position {
        var batches: UInt64
        var sequence: UInt64
    }

    private struct State {
        var file: OpenFile
        var durable: Position
        var failure: EventLogError?
        var onDurable: (@Sendable (UInt64) -> Void)?
    }

    private let policy: SyncPolicy
    private let calls: FileCalls
    private let queue: any SyncQueue
    private let state: Mutex<State>
    // Each append uses these atomics, so they are not behind the lock. Only the writer changes the first two: it stores
    // the sequence before the batch count. Readers load the batch count first, so the sequence is never older than the
    // count.
    private let writtenSequence: Atomic<UInt64>
    private let writtenBatches = Atomic<UInt64>(0)
    private let isScheduled = Atomic(false)
    private let hasFailed = Atomic(false)

    /// - Parameter sequence: The log's last sequence. It counts as durable.
    init(_ file: OpenFile, sequence: UInt64, policy: SyncPolicy, calls: FileCalls) {
        let position = Position(batches: 0, sequence: sequence)
        self.policy = policy
        self.calls = calls
        queue = calls.makeQueue()
        state = Mutex(State(file: file, durable: position))
        writtenSequence = Atomic(sequence)
    }

    var failure: EventLogError? {
        hasFailed.load(ordering: .acquiring) ? state.withLock { $0.failure } : nil
    }

    /// See ``EventLogWriter/durableSequence``.
    var durableSequence: UInt64 {
        guard policy == .always || hasFailed.load(ordering: .acquiring) else {
            return writtenSequence.load(ordering: .acquiring)
        }
        return state.withLock { $0.durable.sequence }
    }

    var batches: UInt64 { writtenBatches.load(ordering: .acquiring) }

    /// See ``EventLogWriter/durableBatches``.
    var durableBatches: UInt64 {
        guard policy == .always || hasFailed.load(ordering: .acquiring) else { return batches }
        return state.withLock { $0.durable.batches }
    }

    private var written: Position {
        let batches = writtenBatches.load(ordering: .sequentiallyConsistent)
        return Position(batches: batches, sequence: writtenSequence.load(ordering: .acquiring))
    }

    private func isDirty(_ state: State) -> Bool { state.failure == nil && written.batches != state.durable.batches }

    func onDurable(_ body: @escaping @Sendable (UInt64) -> Void) {
        state.withLock { $0.onDurable = body }
    }

    func noteWrittenBatch(through sequence: UInt64) {
        writtenSequence.store(sequence, ordering: .releasing)
        let batches = writtenBatches.load(ordering: .relaxed) + 1
        guard policy != .never else { return writtenBatches.store(batches, ordering: .releasing) }
        writtenBatches.store(batches, ordering: .sequentiallyConsistent)
        scheduleOnce()
    }

    private func scheduleOnce() {
        guard !isScheduled.load(ordering: .sequentiallyConsistent),
            !isScheduled.exchange(true, ordering: .sequentiallyConsistent)
        else { return }
        schedule()
    }

    /// Makes a finished segment durable before the next one exists, so that a power failure can tear only the last
    /// segment. Does nothing with ``SyncPolicy/never``.
    func finishSegment() throws(EventLogError) {
        if policy != .never { try flush() }
    }

    /// Continues with a new segment. With ``SyncPolicy/never``, calls `fdatasync` for the old segment in the
    /// background.
    func move(to file: OpenFile) {
        let old = state.withLock { state in
            defer { state.file = file }
            return state.file
        }
        if policy == .never { queue.schedule(after: .zero) { self.synchronize(old) } }
    }

    /// Waits until all written batches are durable, whatever the policy.
    func flush() throws(EventLogError) {
        queue.runAndWait { syncWritten() }
        if let failure { throw failure }
    }

    private func schedule() {
        switch policy {
        case .always: queue.schedule(after: .zero) { self.run() }
        case .interval(let duration): queue.schedule(after: duration) { self.run() }
        case .never: break
        }
    }

    private func run() {
        syncWritten()
        isScheduled.store(false, ordering: .sequentiallyConsistent)
        if state.withLock({ isDirty($0) }) { scheduleOnce() }
    }

    private func syncWritten() {
        let work = state.withLock { isDirty($0) ? ($0.file, written) : nil }
        guard let (file, position) = work else { return }
        let isSynced = synchronize(file)
        let (onDurable, sequence) = state.withLock { state in
            if isSynced { state.durable = position }
            return (policy == .always || !isSynced ? state.onDurable : nil, state.durable.sequence)
        }
        onDurable?(sequence)
    }

    @discardableResult
    private func synchronize(_ file: OpenFile) -> Bool {
        if uninterrupted({ calls.sync(file.descriptor) }) == 0 { return true }
        let failure = EventLogError.syncFailed(file: file.path, errno: errno)
        state.withLock { $0.failure = $0.failure ?? failure }
        hasFailed.store(true, ordering: .releasing)
        return false
    }
}
