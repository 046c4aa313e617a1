import EventLog
import TestSupport
import Testing

@Suite struct LogIndexPropertyTests {
    /// Random logs grow, start new segments, lose their oldest segments, and are torn. In between, the index that was
    /// made for the empty log is updated, or a new index is made.
    @Test func `in random logs, an index finds exactly the same events as a scan`() throws {
        let seed = Seeded.ofThisRun
        var random = Seeded(seed)
        for _ in 0..<6 { try check(&random, "BELFRY_SEED=\(seed)") }
    }

    private func check(_ random: inout Seeded, _ seed: Comment) throws {
        let scratch = Scratch()
        let segmentBytesMax = Int.random(in: 300...8_000, using: &random)
        var writer = try scratch.writer(segmentBytesMax: segmentBytesMax)
        let kept = try IndexedLog.index(scratch)
        for _ in 0..<120 {
            switch random.below(12) {
            case 0: try trim(scratch, &random)
            case 1:
                try writer.close()
                if random.isOneIn(2) { try tear(scratch, &random) }
                writer = try scratch.writer(segmentBytesMax: segmentBytesMax)
            case 2...4:
                let index = random.isOneIn(2) ? kept : try IndexedLog.index(scratch, usesFiles: !random.isOneIn(4))
                try index.update()
                try expectRight(index, scratch, &random, seed)
            default: try append(writer, &random)
            }
        }
        try kept.update()
        try expectRight(kept, scratch, &random, seed)
        let report = try LogIndex.verify(
            directory: scratch.log, scheme: IndexedLog.scheme(), limits: IndexedLog.limits)
        #expect(report.problems.isEmpty, seed)
    }

    private func append(_ writer: EventLogWriter, _ random: inout Seeded) throws {
        let events = (0..<random.below(8)).map { _ in
            IndexedLog.event("k\(random.below(random.isOneIn(3) ? 1_000 : 10))", padding: random.below(120))
        }
        try writer.append(
            events, cursor: random.isOneIn(2) ? Cursor() : Cursor(["changes": random.next() >> 1]),
            now: writer.lastNow.microseconds + Int64(random.below(3)))
    }

    private func expectRight(
        _ index: LogIndex, _ scratch: Scratch, _ random: inout Seeded, _ seed: Comment
    ) throws {
        let events = try IndexedLog.scan(scratch)
        try IndexedLog.expectRight(index, events, seed)
        let name = "k\(random.below(10))"
        let (left, right) = (UInt64(random.below(200)), UInt64(random.below(200)))
        let range = min(left, right)...max(left, right)
        let expected = events.filter { range.contains($0.sequence) && IndexedLog.name(of: $0) == name }
        let found = try index.events(with: IndexedLog.key(name), in: range, newestFirst: true)
        #expect(found == expected.reversed(), seed)
        for event in events where random.isOneIn(20) { #expect(try index.event(at: event.sequence) == event, seed) }
    }

    private func trim(_ scratch: Scratch, _ random: inout Seeded) throws {
        let segments = try scratch.segments
        guard segments.count > 1 else { return }
        for path in segments.prefix(1 + random.below(segments.count - 1)) { try #require(unlinkSucceeds(path)) }
    }

    /// Cuts the last segment at a random byte after the first 1,000, like a power failure.
    private func tear(_ scratch: Scratch, _ random: inout Seeded) throws {
        let path = try #require(try scratch.segments.last)
        let whole = try bytes(of: path)
        guard whole.count > 1_000 else { return }
        try write(Array(whole[..<(1_000 + random.below(whole.count - 1_000))]), to: path)
    }
}
