import EventLog
import Testing

@testable import Replay

/// How threads share the spans of several stages: each span is replayed once, and few states are restored from
/// snapshots.
@Suite struct SpanPlanTests {
    /// A history of `count` spans, with snapshots at 1, 2 and so on between them.
    private func history(_ count: UInt64, bytes: UInt64) -> (spans: [StageSpan], bytes: UInt64) {
        let bounds = [nil] + (1..<count).map { Optional(header($0)) } + [nil]
        return (zip(bounds, bounds.dropFirst()).map { StageSpan(start: $0, end: $1) }, bytes)
    }

    private func header(_ position: UInt64) -> SnapshotHeader {
        SnapshotHeader(
            stage: "match", version: 1, log: .random(), upstream: .random(), cursor: Cursor(["changes": position]),
            sequence: position, now: .epoch)
    }

    private func startPosition(of series: SpanSeries?) -> UInt64? { series?.span.start?.position }

    @Test func `the largest history is replayed first`() {
        let plan = SpanPlan([history(1, bytes: 10), history(2, bytes: 30), history(1, bytes: 20)])
        #expect((0..<3).map { _ in plan.next()?.history } == [1, 2, 0])
    }

    @Test func `an idle thread takes the later half of the spans that another thread has not reached`() throws {
        let plan = SpanPlan([history(8, bytes: 80)])
        let whole = try #require(plan.next())
        #expect(whole.moveToNextSpan())
        let half = try #require(plan.next())
        #expect(startPosition(of: half) == 5)
        var replayed = 2
        while whole.moveToNextSpan() { replayed += 1 }
        #expect(replayed == 5 && startPosition(of: whole) == 4)
        #expect(startPosition(of: plan.next()) == 7, "half of the two spans after the current one")
        #expect(half.moveToNextSpan() && startPosition(of: half) == 6 && !half.moveToNextSpan())
        #expect(plan.next() == nil)
    }

    @Test func `every span is replayed once, whichever thread is faster`() throws {
        for seed in 0..<50 {
            let plan = SpanPlan([history(9, bytes: 90), history(4, bytes: 40), history(1, bytes: 10)])
            var active: [SpanSeries] = []
            var seen: [[UInt64]] = [[], [], []]
            for step in 0..<100 {
                if active.count < 2, let series = plan.next() {
                    active.append(series)
                    seen[series.history].append(series.span.start?.position ?? 0)
                } else if !active.isEmpty {
                    let index = (seed / 3 + step * (1 + seed % 5)) % active.count
                    let series = active[index]
                    if series.moveToNextSpan() {
                        seen[series.history].append(series.span.start?.position ?? 0)
                    } else {
                        active.remove(at: index)
                    }
                }
            }
            #expect(seen.map { $0.sorted() } == [Array(0..<9), Array(0..<4), [0]], "seed \(seed)")
        }
    }

    @Test func `an abandoned series has no more spans, and a stopped plan has no more spans for any series`() throws {
        let plan = SpanPlan([history(4, bytes: 40), history(4, bytes: 30)])
        let abandoned = try #require(plan.next())
        abandoned.abandon()
        let other = try #require(plan.next())
        #expect(!abandoned.moveToNextSpan() && other.history == 1)
        plan.stop()
        #expect(!other.moveToNextSpan() && plan.next() == nil)
    }
}
