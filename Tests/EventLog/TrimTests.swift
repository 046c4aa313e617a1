import Glibc
import Synchronization
import Testing
import Time

@testable import EventLog

@Suite struct TrimTests {
    /// A log of five segments or more. Each batch has one event, and is ten microseconds later than the batch before
    /// it.
    private func writeLog(in scratch: Scratch) throws -> EventLogWriter {
        let writer = try scratch.writer(segmentBytesMax: 500)
        for number in 1...20 {
            try writer.append(
                [event(number, padding: 90)], cursor: Cursor(["a": UInt64(number)]), now: Int64(number * 10))
        }
        try #require(try scratch.segments.count >= 5)
        return writer
    }

    @Test func `a writer reports the events, times and size of each segment`() throws {
        let scratch = Scratch()
        let writer = try writeLog(in: scratch)
        let facts = try writer.segments()
        #expect(facts.map(\.path) == (try scratch.segments))
        #expect(facts[0].firstSequence == 1 && facts.last?.lastSequence == 20)
        for (fact, next) in zip(facts, facts.dropFirst()) { #expect(fact.lastSequence + 1 == next.firstSequence) }
        for fact in facts {
            #expect(fact.firstNow == Instant(microseconds: Int64(fact.firstSequence) * 10))
            #expect(fact.lastNow == Instant(microseconds: Int64(fact.lastSequence) * 10))
            #expect(fact.bytes == UInt64(try bytes(of: fact.path).count))
        }
        let empty = Scratch()
        #expect(try empty.writer().segments().map(\.lastSequence) == [0])
    }

    @Test func `a trim removes the segments that end before a sequence, but never the last segment`() throws {
        for sequence in 0...25 as ClosedRange<UInt64> {
            let scratch = Scratch()
            let writer = try writeLog(in: scratch)
            let before = try writer.segments()
            let removed = try writer.trim(before: sequence)
            #expect(removed == before.dropLast().filter { $0.lastSequence < sequence })
            #expect(try writer.segments() == Array(before.dropFirst(removed.count)))
            try writer.append([event(21)], cursor: Cursor(["b": 1]))
            try writer.close()
            #expect(try EventLogs.verify(directory: scratch.log).isSound)
            #expect(
                try EventLogs.summary(directory: scratch.log).firstSequence == (removed.last?.lastSequence ?? 0) + 1)
            let reopened = try scratch.writer()
            #expect(reopened.lastSequence == 21 && reopened.cursor == Cursor(["a": 20, "b": 1]))
        }
    }

    @Test func `a reader that has to open a removed segment gets an error`() throws {
        let scratch = Scratch()
        let writer = try writeLog(in: scratch)
        let slow = try EventLogReader(directory: scratch.log, from: .beginning)
        let fast = try EventLogReader(directory: scratch.log, from: .sequence(20))
        _ = try slow.next()
        let first = try writer.trim(before: 20).last.map { $0.lastSequence + 1 } ?? 0
        let byTime = try EventLogReader(directory: scratch.log, from: .time(Instant(microseconds: 10)))
        #expect(try byTime.next()?.header.firstSequence == first)
        #expect(throws: EventLogError.gone(directory: scratch.log, sequence: 1, first: first)) {
            try EventLogReader(directory: scratch.log, from: .sequence(1))
        }
        let error = #expect(throws: EventLogError.self) { while try slow.next() != nil {} }
        guard case .gone(_, _, first) = error else { throw error ?? .invalidName("") }
        #expect(try fast.rest().map(\.first) == [20])
    }

    /// The last segment is empty, so only the segment before it has the log's cursor.
    @Test func `a trim keeps the segment before an empty last segment`() throws {
        let scratch = Scratch()
        try writeLog(in: scratch).close()
        let last = try #require(try scratch.segments.last)
        try #require(truncateSucceeds(last, to: 0))
        try scratch.trim(before: 100)
        #expect(try scratch.segments.count == 2)
        let writer = try scratch.writer()
        #expect(writer.cursor == Cursor(["a": writer.lastSequence]) && writer.lastSequence > 10)
    }

    /// Lets the first `allowed` removals succeed, and all later ones fail.
    @Test func `a failed removal of segments leaves no gap in the log`() throws {
        for allowed in 0..<4 {
            let scratch = Scratch()
            try writeLog(in: scratch).close()
            let left = Mutex(allowed)
            var options = scratch.options(segmentBytesMax: 500)
            options.calls.unlink = { path in
                if left.withLock({
                    $0 -= 1
                    return $0 >= 0
                }) {
                    return unlink(path)
                }
                errno = EIO
                return -1
            }
            let writer = try EventLogWriter(options)
            let before = try writer.segments()
            #expect(throws: EventLogError.self) { try writer.trim(before: 100) }
            #expect(try writer.segments() == Array(before.dropFirst(allowed)))
            #expect(try EventLogs.verify(directory: scratch.log).isSound)
        }
    }
}
