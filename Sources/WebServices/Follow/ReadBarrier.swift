import Synchronization

/// Lets a read pass when the store has every change that was acknowledged to any client before the read came.
///
/// After the read came, the gateway asks ingest for the last sequence of the changes log. The read passes when the
/// store has applied this sequence. So no answer shows an older state than an earlier answer, even if another gateway
/// gave the earlier answer. Reads that come while a question is in flight share the next question. A read that waits
/// too long is refused.
final class ReadBarrier: Sendable {
    fileprivate struct Read {
        let deadline: ContinuousClock.Instant
        let continuation: CheckedContinuation<Bool, Never>
    }

    fileprivate struct State {
        var applied: UInt64 = 0
        /// The log's last known sequence, from ingest's answers and from the store.
        var last: UInt64 = 0
        /// Reads that came after the last question was begun.
        var arrived: [Read] = []
        /// Reads that the question in flight will answer.
        var asked: [Read] = []
        /// Reads that wait for the store, in the order of the sequences.
        var awaited: [(last: UInt64, reads: [Read])] = []
        var isClosed = false
    }

    private let state = Mutex(State())
    private let wake: @Sendable () -> Void

    /// - Parameter wake: Called when a read has come. It wakes the thread that calls ``beginQuestion()``.
    init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

    /// The last sequence in the store.
    var applied: UInt64 { state.withLock { $0.applied } }
    /// The number of waiting reads.
    var count: Int {
        state.withLock { state in
            state.arrived.count + state.asked.count + state.awaited.reduce(0) { $0 + $1.reads.count }
        }
    }
    /// How many events the store lacks, as far as ingest's answers show.
    var lag: UInt64 { state.withLock { $0.last - min($0.applied, $0.last) } }

    /// Waits until the store is new enough.
    ///
    /// - Returns: False if the deadline came first, or the barrier was closed.
    func pass(until deadline: ContinuousClock.Instant) async -> Bool {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                guard !state.isClosed else { return false }
                state.arrived.append(Read(deadline: deadline, continuation: continuation))
                return true
            }
            isOpen ? wake() : continuation.resume(returning: false)
        }
    }

    // MARK: The thread that asks ingest

    /// Begins a question that covers all reads that have come.
    ///
    /// - Returns: How many reads wait for ingest's answer with the log's last sequence. If 0, ingest need not be asked.
    func beginQuestion() -> Int {
        state.withLock { state in
            state.asked += state.arrived
            state.arrived = []
            return state.asked.count
        }
    }

    /// Handles ingest's answer to the question: the log's last sequence.
    func handleAnswer(last: UInt64) {
        resume(
            state.withLock { state in
                state.last = max(state.last, last)
                if !state.asked.isEmpty { state.awaited.append((state.last, state.asked)) }
                state.asked = []
                return state.removeReadyReads()
            }, true)
    }

    /// Refuses the reads that have waited too long.
    func expire(at now: ContinuousClock.Instant) {
        resume(state.withLock { $0.removeReads { $0.deadline <= now } }, false)
    }

    /// Refuses all waiting and later reads.
    func close() {
        resume(
            state.withLock { state in
                state.isClosed = true
                return state.removeReads { _ in true }
            }, false)
    }

    // MARK: The store's thread

    /// Says that the store has applied all events up to `sequence`.
    func applied(through sequence: UInt64) {
        resume(
            state.withLock { state in
                state.applied = max(state.applied, sequence)
                state.last = max(state.last, sequence)
                return state.removeReadyReads()
            }, true)
    }

    private func resume(_ reads: [Read], _ passes: Bool) {
        for read in reads { read.continuation.resume(returning: passes) }
    }
}

extension ReadBarrier.State {
    /// Removes and returns the reads for which the store is new enough.
    fileprivate mutating func removeReadyReads() -> [ReadBarrier.Read] {
        let done = awaited.prefix { $0.last <= applied }
        awaited.removeFirst(done.count)
        return done.flatMap(\.reads)
    }

    fileprivate mutating func removeReads(where mustBeRemoved: (ReadBarrier.Read) -> Bool) -> [ReadBarrier.Read] {
        var removed: [ReadBarrier.Read] = []
        func removeMatching(_ reads: inout [ReadBarrier.Read]) {
            removed += reads.filter(mustBeRemoved)
            reads.removeAll(where: mustBeRemoved)
        }
        removeMatching(&arrived)
        removeMatching(&asked)
        for index in awaited.indices { removeMatching(&awaited[index].reads) }
        return removed
    }
}
