import Synchronization

/// Shares the histories of several stages out among threads.
///
/// A thread takes a whole history and goes through it from span to span with the machine that it has. Where none is
/// left that nobody has begun, it takes the later half of what another thread has still before it: so no thread is
/// idle, and few states are read back.
final class SpanPlan: Sendable {
    /// What one thread goes through, up to `end`.
    private struct Share {
        var history: Int
        /// The span in hand; the first one where nobody has begun.
        var current: Int
        var end: Int
        var isBegun = false

        var spansLeft: Int { isBegun ? end - current - 1 : 0 }
    }

    private struct History {
        var spans: [StageSpan]
        var bytesEach: UInt64
    }

    private let histories: [History]
    private let shares: Mutex<[Share]>

    /// - Parameter histories: Each with its spans, of which there is at least one, and its size.
    init(_ histories: [(spans: [StageSpan], bytes: UInt64)]) {
        self.histories = histories.map { History(spans: $0.spans, bytesEach: $0.bytes / UInt64($0.spans.count)) }
        shares = Mutex(histories.indices.map { Share(history: $0, current: 0, end: histories[$0].spans.count) })
    }

    /// What a thread that has nothing to do goes through next; nil where nothing is left.
    func next() -> SpanCourse? {
        let taken = shares.withLock { shares -> (Int, Share)? in
            guard let index = begin(&shares) ?? split(&shares) else { return nil }
            shares[index].isBegun = true
            return (index, shares[index])
        }
        guard let (index, share) = taken else { return nil }
        return SpanCourse(
            history: share.history, span: histories[share.history].spans[share.current],
            following: { self.following(index) }, leave: { self.leave(index) })
    }

    /// Leaves nothing to take any more: every course ends with the span in hand.
    func stop() {
        shares.withLock { shares in
            for index in shares.indices {
                (shares[index].isBegun, shares[index].end) = (true, shares[index].current + 1)
            }
        }
    }

    /// The largest that nobody has begun.
    private func begin(_ shares: inout [Share]) -> Int? {
        shares.indices.filter { !shares[$0].isBegun }.max {
            bytes(shares[$0]) < bytes(shares[$1])
        }
    }

    /// The later half of the largest that is left to somebody.
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

/// A row of one stage's spans, gone through by one thread.
final class SpanCourse {
    /// Which of the plan's histories this is a part of.
    let history: Int
    /// The span in hand.
    private(set) var span: StageSpan
    private let following: () -> StageSpan?
    private let leave: () -> Void

    fileprivate init(
        history: Int, span: StageSpan, following: @escaping () -> StageSpan?, leave: @escaping () -> Void
    ) {
        (self.history, self.span, self.following, self.leave) = (history, span, following, leave)
    }

    /// Goes on to the next span.
    ///
    /// - Returns: False where the course ends here, because another thread began there or the history ends.
    func goOn() -> Bool {
        guard let next = following() else { return false }
        span = next
        return true
    }

    /// Gives up all spans behind the one in hand: nothing depends on them any more.
    func abandon() { leave() }
}
