import EventLog
import Glibc
import Testing
import Time

@Suite struct ReaderTests {
    /// Batches of zero to four events, in several segments.
    private func writeLog(in scratch: Scratch) throws -> [ModelBatch] {
        let writer = try scratch.writer(segmentBytesMax: 600)
        var number = 0
        for index in 0..<40 {
            let events = (0..<index % 5).map { event(number + $0 + 1, padding: 10 * $0) }
            number += events.count
            try writer.append(events, cursor: Cursor(["a": UInt64(index)]), now: Int64(index / 3 * 10))
        }
        try writer.close()
        #expect(try scratch.segments.count > 5)
        return try EventLogReader.all(scratch.log)
    }

    @Test func `a reader starts at any sequence`() throws {
        let scratch = Scratch()
        let events = try writeLog(in: scratch).flatMap(\.events)
        for sequence in 0...UInt64(events.count + 1) {
            let reader = try EventLogReader(directory: scratch.log, from: .sequence(sequence))
            var rest: [String] = []
            while let batch = try reader.next() {
                rest += EventLogReader.slice(batch.body, header: batch.header, from: sequence).lines
            }
            #expect(rest == Array(events[(max(Int(sequence), 1) - 1)...]))
        }
    }

    @Test func `a reader starts at any time`() throws {
        let scratch = Scratch()
        let batches = try writeLog(in: scratch)
        for time in -1...135 as ClosedRange<Int64> {
            let start = Instant(microseconds: time)
            let reader = try EventLogReader(directory: scratch.log, from: .time(start))
            #expect(try reader.rest() == batches.filter { $0.now >= start })
        }
    }

    /// Writing the access time may be slow, and appends would wait for it.
    @Test func `reading does not change the access time`() throws {
        let scratch = Scratch()
        _ = try writeLog(in: scratch)
        let paths = try scratch.segments
        let longAgo = timespec(tv_sec: 1_000, tv_nsec: 0)
        for path in paths { #expect(utimensat(AT_FDCWD, path, [longAgo, longAgo], 0) == 0) }
        _ = try EventLogReader.all(scratch.log)
        let accesses = paths.map { path in
            var status = stat()
            return stat(path, &status) == 0 ? status.st_atim.tv_sec : nil
        }
        #expect(accesses == paths.map { _ in 1_000 })
    }

    @Test func `a reader starts at the end of a log or beyond it`() throws {
        let scratch = Scratch()
        let last = try writeLog(in: scratch).reduce(0) { $0 + $1.events.count }
        let end = try EventLogReader(directory: scratch.log, from: .end)
        let ahead = try EventLogReader(directory: scratch.log, from: .sequence(UInt64(last) + 2))
        let later = try EventLogReader(directory: scratch.log, from: .time(Instant(microseconds: 500)))
        #expect(try (end.next() == nil, ahead.next() == nil, later.next() == nil) == (true, true, true))
        let writer = try scratch.writer(segmentBytesMax: 600)
        try writer.append([event(1)])
        try writer.append([event(2)], now: 500)
        #expect(try end.rest().flatMap(\.events) == [event(1), event(2)])
        #expect(try ahead.rest().flatMap(\.events) == [event(2)])
        #expect(try later.rest().flatMap(\.events) == [event(2)])
    }

    @Test func `a reader can read the headers of batches without their bodies`() throws {
        let scratch = Scratch()
        let batches = try writeLog(in: scratch)
        let reader = try EventLogReader(directory: scratch.log, from: .beginning)
        for batch in batches {
            let header = try #require(try reader.nextHeader())
            #expect(header.firstSequence == batch.first && header.count == batch.events.count)
            #expect(header.lastSequence + 1 == batch.first + UInt64(batch.events.count))
            #expect(header.now == batch.now && header.cursor == batch.cursor)
        }
        #expect(try reader.nextHeader() == nil)
    }

    @Test func `a reader returns nil instead of a batch that ends after the given sequence`() throws {
        let scratch = Scratch()
        let writer = try scratch.writer()
        for number in 1...3 { try writer.append([event(number)]) }
        let reader = try EventLogReader(directory: scratch.log, from: .beginning)
        #expect(try reader.next(through: 0) == nil)
        #expect(try reader.next(through: 1)?.events == [event(1)])
        #expect(try reader.next(through: 1) == nil)
        #expect(try reader.rest().count == 2)
    }

    @Test func `a slice of a batch begins at the given sequence`() throws {
        let body = Array("{1}\n{2}\n{3}\n".utf8)
        let header = BatchHeader(firstSequence: 10, count: 3, now: .epoch, bodyBytes: body.count)
        body.withUnsafeBytes { body in
            #expect(EventLogReader.slice(body, header: header, from: 0).count == 12)
            #expect(EventLogReader.slice(body, header: header, from: 10).count == 12)
            #expect(EventLogReader.slice(body, header: header, from: 12).lines == ["{3}"])
            #expect(EventLogReader.slice(body, header: header, from: 13).isEmpty)
            #expect(EventLogReader.slice(body, header: header, from: 99).isEmpty)
        }
    }

    @Test func `an empty or missing log has no batches yet`() throws {
        let scratch = Scratch()
        let early = try EventLogReader(directory: scratch.log, from: .end)
        #expect(try early.next() == nil)
        let writer = try scratch.writer()
        #expect(try early.next() == nil)
        #expect(try EventLogReader.all(scratch.log).isEmpty)
        try writer.append([event(1)])
        #expect(try early.rest().flatMap(\.events) == [event(1)])
    }

    @Test func `the list of logs describes each log in a folder`() throws {
        let scratch = Scratch()
        let batches = try writeLog(in: scratch)
        _ = try EventLogWriter(EventLogOptions(directory: scratch.path, name: "empty"))
        let logs = try EventLogs.list(in: scratch.path)
        #expect(logs.map(\.name) == ["empty", "matches"])
        #expect(logs[0].firstSequence == 1 && logs[0].lastSequence == 0 && logs[0].firstNow == nil)
        #expect(logs[1].identity == LogIdentity(seed: "test", name: "matches"))
        #expect(logs[1].lastSequence == UInt64(batches.reduce(0) { $0 + $1.events.count }))
        #expect(logs[1].firstNow == batches.first?.now && logs[1].lastNow == batches.last?.now)
        #expect(try logs[1].segments == scratch.segments.count && !logs[1].hasTornTail)
        #expect(try logs[1].bytes == scratch.segments.reduce(0) { try $0 + UInt64(bytes(of: $1).count) })
        #expect(try EventLogs.list(in: scratch.path + "/none").isEmpty)
    }

    @Test func `a last segment without a batch does not change the time of the last batch`() throws {
        let scratch = Scratch()
        let batches = try writeLog(in: scratch)
        let next = "\(batches.reduce(1) { $0 + $1.events.count })"
        let name = String(repeating: "0", count: 20 - next.count) + next
        try write([], to: scratch.log + "/" + name + ".log")
        let summary = try EventLogs.summary(directory: scratch.log)
        #expect(try summary.segments == scratch.segments.count && "\(summary.lastSequence + 1)" == next)
        #expect(summary.firstNow == batches.first?.now && summary.lastNow == batches.last?.now)
    }
}
