import Synchronization

/// Distributes the histories of several stages among threads.
///
/// A thread takes a whole history and replays span after span with one machine. When no whole history is left, an idle
/// thread takes work from another thread: the later half of the spans that this other thread has not reached.
/// So no thread is idle while spans are left, and few machines must be restored from a snapshot.
final class SpanPlan: Sendable {
    /// The spans of one thread, up to but without `end`.
    private struct Share {
        var history: Int
        /// The span that is being replayed. Before the thread has begun: the first span of the share.
        var current: Int
        var end: Int
        var isBegun = false

        /// How many spans another thread may take: the spans that this thread has not reached. 0 before a thread has
        /// begun the share, because the share is then taken as a whole.
        var spansLeft: Int { isBegun ? end - current - 1 : 0 }
    }

    private struct History {
        var spans: [StageSpan]
        var bytesEach: UInt64
    }

    private let histories: [History]
    private let shares: Mutex<[Share]>

    /// - Parameter histories: For each stage, its spans, at least one, and the size of its input and log in bytes.
    init(_ histories: [(spans: [StageSpan], bytes: UInt64)]) {
        self.histories = histories.map { History(spans: $0.spans, bytesEach: $0.bytes / UInt64($0.spans.count)) }
        shares = Mutex(histories.indices.map { Share(history: $0, current: 0, end: histories[$0].spans.count) })
    }

    /// The work for an idle thread; nil when no span is left.
    func next() -> SpanSeries? {
        let taken = shares.withLock { shares -> (Int, Share)? in
            guard let index = largestUnbegun(&shares) ?? split(&shares) else { return nil }
            shares[index].isBegun = true
            return (index, shares[index])
        }
        guard let (index, share) = taken else { return nil }
        return SpanSeries(
            history: share.history, span: histories[share.history].spans[share.current],
            following: { self.following(index) }, leave: { self.leave(index) })
    }

    /// Ends every series after its current span, and gives out no further series.
    func stop() {
        shares.withLock { shares in
            for index in shares.indices {
                (shares[index].isBegun, shares[index].end) = (true, shares[index].current + 1)
            }
        }
    }

    /// The largest share that no thread has begun.
    private func largestUnbegun(_ shares: inout [Share]) -> Int? {
        shares.indices.filter { !shares[$0].isBegun }.max { bytes(shares[$0]) < bytes(shares[$1]) }
    }

    /// Chooses the begun share with the most unreached bytes, and splits off the later half of its unreached spans.
    private func split(_ shares: inout [Share]) -> Int? {
        let left = shares.indices.filter { shares[$0].spansLeft > 0 }
        guard let from = left.max(by: { bytesLeft(shares[$0]) < bytesLeft(shares[$1]) }) else { return nil }
        var half = shares[from]
        half.current = half.end - (half.spansLeft + 1) / 2
        shares[from].end = half.current
        shares.append(half)
        return shares.indices.last
    }

    private func bytes(_ share: Share) -> UInt64 {
        histories[share.history].bytesEach * UInt64(share.end - share.current)
    }

    private func bytesLeft(_ share: Share) -> UInt64 {
        histories[share.history].bytesEach * UInt64(share.spansLeft)
    }

    private func following(_ index: Int) -> StageSpan? {
        shares.withLock { shares in
            guard shares[index].spansLeft > 0 else { return nil }
            shares[index].current += 1
            return histories[shares[index].history].spans[shares[index].current]
        }
    }

    private func leave(_ index: Int) {
        shares.withLock { $0[index].end = $0[index].current + 1 }
    }
}

/// Consecutive spans of one stage, replayed by one thread.
final class SpanSeries {
    /// The index of the stage in the plan's histories.
    let history: Int
    /// The span that is being replayed.
    private(set) var span: StageSpan
    private let following: () -> StageSpan?
    private let leave: () -> Void

    fileprivate init(
        history: Int, span: StageSpan, following: @escaping () -> StageSpan?, leave: @escaping () -> Void
    ) {
        (self.history, self.span, self.following, self.leave) = (history, span, following, leave)
    }

    /// Moves to the next span.
    ///
    /// - Returns: False when the series ends: another thread has the next span, the history is over, or the plan was
    ///   stopped.
    func moveToNextSpan() -> Bool {
        guard let next = following() else { return false }
        span = next
        return true
    }

    /// Drops all spans after the current one.
    func abandon() { leave() }
}
