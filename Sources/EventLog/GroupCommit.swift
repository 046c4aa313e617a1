import Glibc
import Synchronization

/// Makes a log's batches durable on its own queue, so that an append within a segment does not wait for the disk or
/// for the log's home.
///
/// One `fdatasync` covers all batches written before it began. Later batches wait for the next `fdatasync`. A log with
/// a home passes these batches on to the home instead.
final class GroupCommit: Sendable {
    /// A position in the log: the number of batches, the last sequence, and the size of the last segment.
    private struct Position {
        var batches: UInt64
        var sequence: UInt64
        var bytes: UInt64
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
    private let hasHome: Bool
    /// Only work on the queue waits for the home, with this lock.
    private let copy: Mutex<HomeCopy?>
    private let state: Mutex<State>
    // Each append uses these atomics, so they are not behind the lock. Only the writer changes the first three: it
    // stores the batch count last. Readers load the batch count first, so the others are never older than the count.
    private let writtenBytes: Atomic<UInt64>
    private let writtenSequence: Atomic<UInt64>
    private let writtenBatches = Atomic<UInt64>(0)
    private let isScheduled = Atomic(false)
    private let hasFailed = Atomic(false)

    /// - Parameters:
    ///   - sequence: The log's last sequence. It counts as durable.
    ///   - bytes: The size of the last segment, which is `file`.
    ///   - policy: ``SyncPolicy/always`` for a log with a home.
    ///   - copy: Passes batches on to the log's home; nil for a log without a home.
    init(
        _ file: OpenFile, sequence: UInt64, bytes: UInt64, policy: SyncPolicy, calls: FileCalls,
        copy: sending HomeCopy? = nil
    ) {
        let position = Position(batches: 0, sequence: sequence, bytes: bytes)
        self.policy = policy
        self.calls = calls
        queue = calls.makeQueue()
        hasHome = copy != nil
        state = Mutex(State(file: file, durable: position))
        self.copy = Mutex(copy)
        writtenBytes = Atomic(bytes)
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
        return Position(
            batches: batches, sequence: writtenSequence.load(ordering: .acquiring),
            bytes: writtenBytes.load(ordering: .acquiring))
    }

    private func isDirty(_ state: State) -> Bool { state.failure == nil && written.batches != state.durable.batches }

    /// How many bytes of the last segment the log's home has not stored yet; 0 without a home. All of an earlier
    /// segment is stored.
    var waitingBytes: UInt64 {
        guard hasHome else { return 0 }
        let durable = state.withLock { $0.durable.bytes }
        let written = writtenBytes.load(ordering: .acquiring)
        return written > durable ? written - durable : 0
    }

    func onDurable(_ body: @escaping @Sendable (UInt64) -> Void) {
        state.withLock { $0.onDurable = body }
    }

    /// - Parameter bytes: The size of the last segment with the batch.
    func noteWrittenBatch(through sequence: UInt64, bytes: UInt64) {
        writtenBytes.store(bytes, ordering: .releasing)
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
        guard hasHome else { return }
        copy.withLock { $0?.move(to: file) }
        writtenBytes.store(0, ordering: .releasing)
        state.withLock { $0.durable.bytes = 0 }
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
        let isSynced = hasHome ? copyToHome(through: position.bytes) : synchronize(file)
        let (onDurable, sequence) = state.withLock { state in
            if isSynced { state.durable = position }
            return (policy == .always || !isSynced ? state.onDurable : nil, state.durable.sequence)
        }
        onDurable?(sequence)
    }

    @discardableResult
    private func synchronize(_ file: OpenFile) -> Bool {
        if uninterrupted({ calls.sync(file.descriptor) }) == 0 { return true }
        fail(.syncFailed(file: file.path, errno: errno))
        return false
    }

    private func copyToHome(through bytes: UInt64) -> Bool {
        copy.withLock { copy in
            do throws(EventLogError) { try copy?.copy(through: bytes) } catch {
                fail(error)
                return false
            }
            return true
        }
    }

    private func fail(_ error: EventLogError) {
        state.withLock { $0.failure = $0.failure ?? error }
        hasFailed.store(true, ordering: .releasing)
    }

    /// Appends the content of a file beside the log to the log's home, after all written batches.
    func copyToHome(file name: String, _ text: String) throws(EventLogError) {
        try flush()
        queue.runAndWait {
            copy.withLock { copy in
                do throws(EventLogError) { try copy?.append(file: name, text) } catch { fail(error) }
            }
        }
        if let failure { throw failure }
    }
}
