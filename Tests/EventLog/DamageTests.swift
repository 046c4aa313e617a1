import TestSupport
import Testing

@testable import EventLog

@Suite struct DamageTests {
    private let batches = [["{}", event(2)], [event(3)], [event(4), event(5), event(6, padding: 20)]]

    private func writeThreeBatches(in scratch: Scratch) throws -> String {
        let writer = try scratch.writer()
        for (index, events) in batches.enumerated() {
            try writer.append(events, cursor: Cursor(["changes": UInt64(index + 1)]), now: Int64(index))
        }
        try writer.close()
        return try #require(try scratch.segments.first)
    }

    /// The offset of the third batch. The segment's opening has 64 bytes. Each batch has a header of 64 bytes, a cursor
    /// of 17 bytes, and the lines of its events.
    private var lastBatchOffset: Int { 64 + (64 + 17 + 3 + 8) + (64 + 17 + 8) }

    @Test func `a last batch torn at any byte is cut off and reported`() throws {
        let scratch = Scratch()
        let path = try writeThreeBatches(in: scratch)
        let whole = try bytes(of: path)
        for cut in lastBatchOffset..<whole.count {
            try write(Array(whole[..<cut]), to: path)
            #expect(try EventLogReader.all(scratch.log).flatMap(\.events) == batches[..<2].flatMap { $0 })
            #expect(try EventLogs.verify(directory: scratch.log).tornTail != nil || cut == lastBatchOffset)
            let writer = try scratch.writer()
            #expect(writer.lastSequence == 3 && writer.cursor == Cursor(["changes": 2]))
            #expect(writer.recovery?.bytesCut ?? 0 == UInt64(cut - lastBatchOffset))
            try writer.append(batches[2], cursor: Cursor(["changes": 3]), now: 2)
            try writer.close()
            #expect(try bytes(of: path) == whole)
        }
    }

    @Test func `after a crash at any byte of a segment's first write, the segment can be written again`() throws {
        let scratch = Scratch()
        let writer = try scratch.writer(segmentBytesMax: 200)
        for number in 1...2 { try writer.append([event(number, padding: 100)], cursor: Cursor(["a": UInt64(number)])) }
        try writer.close()
        let paths = try scratch.segments
        try #require(paths.count == 2)
        let whole = try bytes(of: paths[1])
        for cut in 0..<whole.count {
            try write(Array(whole[..<cut]), to: paths[1])
            let writer = try scratch.writer(segmentBytesMax: 200)
            #expect(writer.lastSequence == 1 && writer.cursor == Cursor(["a": 1]))
            try writer.append([event(2, padding: 100)], cursor: Cursor(["a": 2]))
            try writer.close()
            #expect(try bytes(of: paths[1]) == whole)
        }
    }

    @Test func `a verification finds every flipped bit of a segment`() throws {
        let scratch = Scratch()
        let path = try writeThreeBatches(in: scratch)
        let whole = try bytes(of: path)
        for bit in 0..<whole.count * 8 {
            var flipped = whole
            flipped[bit / 8] ^= 1 << (bit % 8)
            try write(flipped, to: path)
            try expectDamage(scratch, at: bit / 8)
            #expect(try bytes(of: path) == flipped, "the segment was changed")
        }
    }

    private func expectDamage(_ scratch: Scratch, at byte: Int) throws {
        let report = try EventLogs.verify(directory: scratch.log)
        let error = #expect(throws: EventLogError.self) { try scratch.writer() }
        #expect(#expect(throws: EventLogError.self) { try EventLogReader.all(scratch.log) } == error)
        guard case .damaged(let file, let offset, let sequence, let reason) = error else {
            Issue.record("\(String(describing: error)) for byte \(byte)")
            return
        }
        let secondOffset = 64 + 64 + 17 + 3 + 8
        #expect(offset == [lastBatchOffset, secondOffset, 64, 0].first { $0 <= byte }.map(UInt64.init))
        #expect(sequence == (byte < secondOffset ? 1 : byte < lastBatchOffset ? 3 : 4))
        #expect(report.problems == [.init(file: file, offset: offset, sequence: sequence, reason: reason)])
        #expect(report.tornTail == nil)
        #expect(error?.description.contains("'belfry log repair \(scratch.log)'") == true)
    }

    /// Flips one bit of each byte, in a log with several segments and with batches without events.
    @Test func `a flipped bit in any segment is found and reported with its segment`() throws {
        let seed = Seeded.ofThisRun
        var random = Seeded(seed)
        let scratch = Scratch()
        let writer = try scratch.writer(segmentBytesMax: 5000)
        for number in 1...14 {
            let events = number % 3 == 0 ? [] : [event(number, padding: number * 61)]
            try writer.append(events, cursor: Cursor(["a": UInt64(number % 2)]), now: Int64(number / 6))
        }
        try writer.close()
        for path in try scratch.segments {
            let whole = try bytes(of: path)
            for index in whole.indices {
                var flipped = whole
                flipped[index] ^= 1 << random.below(8)
                try write(flipped, to: path)
                try expectDamage(scratch, in: path, at: index, "BELFRY_SEED=\(seed), byte \(index) of \(path)")
            }
            try write(whole, to: path)
        }
        #expect(try scratch.segments.count >= 2)
        #expect(try EventLogs.verify(directory: scratch.log).isSound)
    }

    private func expectDamage(_ scratch: Scratch, in path: String, at index: Int, _ comment: Comment) throws {
        let report = try EventLogs.verify(directory: scratch.log)
        let problem = try #require(report.problems.first, comment)
        #expect(report.tornTail == nil && report.problems.allSatisfy { $0.file == path }, comment)
        #expect(problem.offset <= UInt64(index), comment)
        let expected = EventLogError.damaged(
            file: path, offset: problem.offset, sequence: problem.sequence, reason: problem.reason)
        #expect(throws: expected, comment) { try EventLogReader.all(scratch.log) }
        if try scratch.segments.last == path {
            #expect(throws: expected, comment) { try scratch.writer(segmentBytesMax: 5000) }
        }
    }

    @Test func `a middle segment that is cut short or missing is damage`() throws {
        let scratch = Scratch()
        let writer = try scratch.writer(segmentBytesMax: 300)
        for number in 1...9 { try writer.append([event(number, padding: 100)]) }
        try writer.close()
        let (path, whole) = try (scratch.segments[1], bytes(of: scratch.segments[1]))
        for size in 0..<whole.count {
            try #require(truncateSucceeds(path, to: size))
            #expect(throws: EventLogError.self) { try EventLogReader.all(scratch.log) }
            #expect(try EventLogs.verify(directory: scratch.log).problems.first?.file == path)
            try write(whole, to: path)
        }
        try #require(unlinkSucceeds(path))
        #expect(throws: EventLogError.self) { try EventLogReader.all(scratch.log) }
        #expect(try EventLogs.verify(directory: scratch.log).problems.count == 1)
    }

    @Test func `a verification of only the end finds missing segments, but damage only in the last segment`() throws {
        let scratch = Scratch()
        let writer = try scratch.writer(segmentBytesMax: 1_000)
        for number in 1...20 { try writer.append([event(number, padding: 100)]) }
        try writer.close()
        let segments = try scratch.segments
        try #require(segments.count > 3)
        func problems() throws -> [VerifyReport.Problem] {
            try EventLogs.verify(directory: scratch.log, onlyEnd: true).problems
        }
        #expect(try problems() == [])
        for path in segments {
            let whole = try bytes(of: path)
            var flipped = whole
            // In the segment's first event.
            flipped[200] ^= 1
            try write(flipped, to: path)
            #expect(try problems().map(\.file) == (path == segments.last ? [path] : []))
            try write(whole, to: path)
        }
        try #require(unlinkSucceeds(segments[1]))
        #expect(try problems() == EventLogs.verify(directory: scratch.log).problems)
        #expect(try problems().map(\.file) == [segments[0]])
        #expect(try problems().first?.reason.contains("are missing") == true)
    }

    /// The file of the first problem, or of the error that ends the verification.
    private func fileAtFault(in log: String) throws -> String? {
        do throws(EventLogError) {
            return try EventLogs.verify(directory: log).problems.first?.file
        } catch {
            guard case .unsupportedFormat(let file, _) = error else { throw error }
            return file
        }
    }

    @Test func `a log with any flipped bit in its manifest is not opened`() throws {
        let scratch = Scratch()
        _ = try writeThreeBatches(in: scratch)
        let path = scratch.log + "/log.json"
        let whole = try bytes(of: path)
        for bit in 0..<whole.count * 8 {
            var flipped = whole
            flipped[bit / 8] ^= 1 << (bit % 8)
            try write(flipped, to: path)
            #expect(throws: EventLogError.self) { try scratch.writer() }
            #expect(try fileAtFault(in: scratch.log) == path)
        }
    }

    @Test func `a segment of another log is refused`() throws {
        let (left, right) = (Scratch(), Scratch())
        _ = try writeThreeBatches(in: left)
        var options = right.options()
        options.identity = .random()
        let writer = try EventLogWriter(options)
        try writer.append([event(1)])
        try writer.close()
        try write(bytes(of: right.segments[0]), to: left.segments[0])
        #expect(throws: EventLogError.self) { try left.writer() }
        #expect(throws: EventLogError.self) { try EventLogReader.all(left.log) }
    }

    @Test func `a verification continues after damage`() throws {
        let scratch = Scratch()
        let path = try writeThreeBatches(in: scratch)
        var damaged = try bytes(of: path)
        damaged[70] ^= 1
        damaged[lastBatchOffset - 1] ^= 1
        try write(damaged, to: path)
        let report = try EventLogs.verify(directory: scratch.log)
        #expect(report.problems.map(\.sequence) == [1, 3])
        #expect(report.events == 3 && report.batches == 1)
    }

    @Test func `a verification reports lines that are not JSON objects`() throws {
        let scratch = Scratch()
        let writer = try scratch.writer()
        try writer.append(["{}", "[1]", "{\"a\":1", "}", ""])
        try writer.append([event(6)])
        let report = try EventLogs.verify(directory: scratch.log)
        #expect(report.problems.map(\.sequence) == [2, 3, 4, 5])
        #expect(report.events == 6 && report.batches == 2)
    }

    @Test func `a verification finds no problem in a sound log, and rejects a folder without a log`() throws {
        let scratch = Scratch()
        _ = try writeThreeBatches(in: scratch)
        var progressReports = 0
        let report = try EventLogs.verify(directory: scratch.log) { _ in progressReports += 1 }
        #expect(report.isSound && report.events == 6 && report.batches == 3 && report.segments == 1)
        #expect(progressReports == 4)
        #expect(throws: EventLogError.notALog(directory: scratch.path)) {
            try EventLogs.verify(directory: scratch.path)
        }
    }
}
