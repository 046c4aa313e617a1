import EventLog
import TestSupport
import Testing
import Time

@Suite struct LogPropertyTests {
    /// Appends at random, reopens the log at random points, and tears it at random positions.
    @Test func `a log has exactly the batches that were appended`() throws {
        let seed = Seeded.ofThisRun
        var random = Seeded(seed)
        for _ in 0..<8 { try check(&random, "BELFRY_SEED=\(seed)") }
    }

    private func check(_ random: inout Seeded, _ seed: Comment) throws {
        let scratch = Scratch()
        let segmentBytesMax = Int.random(in: 200...20_000, using: &random)
        let reader = try EventLogReader(directory: scratch.log, from: .beginning)
        var (model, seen, cursor) = ([ModelBatch](), [ModelBatch](), Cursor())
        var writer = try scratch.writer(segmentBytesMax: segmentBytesMax)
        for step in 0..<200 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0:
                try writer.close()
                if Bool.random(using: &random) { try tear(scratch, &random) }
                writer = try scratch.writer(segmentBytesMax: segmentBytesMax)
                #expect(writer.cursor == cursor && writer.lastNow == model.last?.now ?? .epoch, seed)
            case 1: seen += try reader.rest()
            default:
                let batch = randomBatch(writer, step, &random)
                try writer.append(batch.events, cursor: batch.cursor, now: batch.now.microseconds)
                model.append(batch)
                cursor.fold(batch.cursor)
            }
        }
        seen += try reader.rest()
        #expect(seen == model, seed)
        #expect(try EventLogReader.all(scratch.log) == model, seed)
        #expect(try EventLogs.verify(directory: scratch.log).isSound, seed)
    }

    private func randomBatch(_ writer: EventLogWriter, _ step: Int, _ random: inout Seeded) -> ModelBatch {
        let events = (0..<Int.random(in: 0...4, using: &random)).map {
            event(step * 10 + $0, padding: .random(in: 0...300, using: &random))
        }
        let names = ["changes", "producer-ä", "x"].filter { _ in Bool.random(using: &random) }
        let cursor = Cursor(Dictionary(uniqueKeysWithValues: names.map { ($0, UInt64(step)) }))
        let now = Instant(microseconds: writer.lastNow.microseconds + .random(in: 0...5, using: &random))
        return ModelBatch(first: writer.nextSequence, events: events, cursor: cursor, now: now)
    }

    /// Leaves a part of one more batch, like a crash.
    private func tear(_ scratch: Scratch, _ random: inout Seeded) throws {
        let path = try #require(try scratch.segments.last)
        let before = try bytes(of: path)
        let writer = try scratch.writer()
        try writer.append([event(0, padding: 50)])
        try writer.close()
        let after = try bytes(of: path)
        try write(Array(after[..<Int.random(in: before.count..<after.count, using: &random)]), to: path)
    }
}
