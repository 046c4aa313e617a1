import TestSupport
import Testing

@testable import EventLog

@Suite struct LogIndexDamageTests {
    /// Writes three segments, with blocks of up to three batches.
    private func writeLog(in scratch: Scratch) throws -> [LoggedEvent] {
        let writer = try scratch.writer(segmentBytesMax: 1_500)
        for number in 0..<18 {
            try writer.append([IndexedLog.event("n\(number % 9)", padding: 60), IndexedLog.event("m\(number)")])
        }
        try writer.close()
        return try IndexedLog.scan(scratch)
    }

    @Test func `an index with any wrong byte still finds every event`() throws {
        let scratch = Scratch()
        let events = try writeLog(in: scratch)
        _ = try IndexedLog.index(scratch)
        let path = try IndexedLog.indexFiles(scratch)[0]
        let whole = try bytes(of: path)
        try #require(whole.count > 400)
        for position in whole.indices {
            var wrong = whole
            wrong[position] ^= UInt8(1 << (position % 8))
            try write(wrong, to: path)
            #expect(try !verified(scratch).isSound, "byte \(position)")
            try IndexedLog.expectRight(IndexedLog.index(scratch), events, "byte \(position)")
        }
        try IndexedLog.expectRight(IndexedLog.index(scratch), events)
        #expect(try bytes(of: path) == whole, "the file was not made again after a search found it damaged")
    }

    @Test func `an index that ends at any byte still finds every event`() throws {
        let scratch = Scratch()
        let events = try writeLog(in: scratch)
        _ = try IndexedLog.index(scratch)
        let path = try IndexedLog.indexFiles(scratch)[0]
        let whole = try bytes(of: path)
        for count in 0..<whole.count {
            try write(Array(whole[..<count]), to: path)
            try IndexedLog.expectRight(IndexedLog.index(scratch), events, "\(count) bytes")
            #expect(try bytes(of: path) == whole, "\(count) bytes")
        }
    }

    @Test func `an index that is cut off during use still finds every event`() throws {
        let scratch = Scratch()
        let events = try writeLog(in: scratch)
        for count in [0, 64, 100, 200] {
            let index = try IndexedLog.index(scratch)
            try #require(truncateSucceeds(try IndexedLog.indexFiles(scratch)[0], to: count))
            try IndexedLog.expectRight(index, events)
        }
    }

    @Test func `the index of another log is not used`() throws {
        let (scratch, other) = (Scratch(), Scratch())
        let events = try writeLog(in: scratch)
        var options = other.options(segmentBytesMax: 3_000)
        options.identity = .random()
        let writer = try EventLogWriter(options)
        for number in 0..<60 { try writer.append([IndexedLog.event("other\(number)", padding: 60)]) }
        try writer.close()
        _ = try (IndexedLog.index(scratch), IndexedLog.index(other))
        let (mine, theirs) = try (IndexedLog.indexFiles(scratch)[0], IndexedLog.indexFiles(other)[0])
        try write(bytes(of: theirs), to: mine)
        #expect(try !verified(scratch).isSound)
        try IndexedLog.expectRight(IndexedLog.index(scratch), events)
        // Keeps the header of this log's index file, and replaces the blocks by those of the other log's index file.
        let (whole, foreign) = try (bytes(of: mine), bytes(of: theirs))
        try write(Array(whole[..<64] + foreign[64...]), to: mine)
        try IndexedLog.expectRight(IndexedLog.index(scratch), events)
    }

    @Test func `another version of the key scheme rebuilds the index`() throws {
        let scratch = Scratch()
        let events = try writeLog(in: scratch)
        _ = try IndexedLog.index(scratch)
        let before = try bytes(of: IndexedLog.indexFiles(scratch)[0])
        try IndexedLog.expectRight(IndexedLog.index(scratch, version: 2), events)
        #expect(try bytes(of: IndexedLog.indexFiles(scratch)[0]) != before)
        try IndexedLog.expectRight(IndexedLog.index(scratch), events)
        #expect(try bytes(of: IndexedLog.indexFiles(scratch)[0]) == before)
    }

    /// A crash may lose the log's last batches, and other batches replace them.
    @Test func `a log that was cut off and has grown again is indexed again`() throws {
        let scratch = Scratch()
        _ = try writeLog(in: scratch)
        let path = try #require(try scratch.segments.last)
        let whole = try bytes(of: path)
        let kept = try IndexedLog.index(scratch)
        for count in stride(from: whole.count - 1, to: whole.count / 2, by: -40) {
            try write(Array(whole[..<count]), to: path)
            let writer = try scratch.writer()
            for _ in 0..<10 { try writer.append([IndexedLog.event("new", padding: 60), IndexedLog.event("x")]) }
            try writer.close()
            let events = try IndexedLog.scan(scratch)
            try kept.update()
            try IndexedLog.expectRight(kept, events, "\(count) bytes")
            try IndexedLog.expectRight(IndexedLog.index(scratch), events, "\(count) bytes")
            #expect(try verified(scratch).isSound)
        }
    }

    @Test func `a sound index has no problems`() throws {
        let scratch = Scratch()
        _ = try writeLog(in: scratch)
        #expect(try verified(scratch) == LogIndexReport())
        _ = try IndexedLog.index(scratch)
        let report = try verified(scratch)
        #expect(report.isSound && report.segments == 3 && report.blocks > 4 && report.events > 25)
    }

    @Test func `indexing a damaged log fails`() throws {
        let scratch = Scratch()
        _ = try writeLog(in: scratch)
        let path = try scratch.segments[0]
        var damaged = try bytes(of: path)
        damaged[400] ^= 1
        try write(damaged, to: path)
        #expect(throws: EventLogError.self) { try IndexedLog.index(scratch) }
    }

    private func verified(_ scratch: Scratch) throws -> LogIndexReport {
        try LogIndex.verify(directory: scratch.log, scheme: IndexedLog.scheme(), limits: IndexedLog.limits)
    }
}
