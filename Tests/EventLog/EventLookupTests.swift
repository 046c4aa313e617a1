import EventLog
import Foundation
import TestSupport
import Testing
import Time

/// Single events of a log, read in any order.
struct EventLookupTests {
    /// A log to which a test appends batches of any number of events, also batches without events.
    private final class Log {
        let folder: Folder
        let writer: EventLogWriter
        private(set) var lines: [String] = []

        init(segmentBytesMax: Int = 300_000) throws {
            folder = try Folder()
            writer = try EventLogWriter(
                EventLogOptions(
                    directory: folder.path, name: "changes", segmentBytesMax: segmentBytesMax, sync: .never))
        }

        var directory: String { folder.path + "/changes" }

        func append(_ count: Int, length: Int) throws {
            let new = (0..<count).map {
                "{\"n\":\(lines.count + $0),\"x\":\"\(String(repeating: "x", count: length))\"}"
            }
            let body = Array(new.map { $0 + "\n" }.joined().utf8)
            _ = try body.withUnsafeBytes { try writer.append($0, count: count, now: writer.lastNow) }
            lines += new
        }

        func appendSome(_ random: inout Seeded) throws {
            let isLarge = random.isOneIn(6)
            try append(isLarge ? 100 + random.below(300) : random.below(12), length: random.below(isLarge ? 900 : 300))
        }
    }

    private func checkEvent(at sequence: Int, of log: Log, with lookup: EventLookup, _ comment: Comment) throws {
        let found = try lookup.read(UInt64(sequence)) { String(decoding: $0, as: UTF8.self) }
        let expected = log.lines.indices.contains(sequence - 1) ? log.lines[sequence - 1] : nil
        #expect(found == expected, comment)
    }

    @Test(arguments: Seeded.seeds, [false, true])
    func `every event is found in any order, also while the log grows`(seed: UInt64, notesBatches: Bool) throws {
        var random = Seeded(seed)
        let log = try Log()
        let lookup = EventLookup(directory: log.directory)
        if notesBatches { log.writer.onAppend { lookup.note($0) } }
        for _ in 0..<40 {
            for _ in 0..<10 { try log.appendSome(&random) }
            for _ in 0..<30 {
                try checkEvent(at: random.below(log.lines.count + 2), of: log, with: lookup, "seed \(seed)")
            }
        }
        let fresh = EventLookup(directory: log.directory)
        for sequence in (0...(log.lines.count + 1)).shuffled(using: &random) {
            try checkEvent(at: sequence, of: log, with: fresh, "seed \(seed), sequence \(sequence)")
        }
        try log.writer.close()
    }

    @Test func `events are found even if one batch is larger than all others together`() throws {
        let log = try Log(segmentBytesMax: 8 << 20)
        for count in [3, 20_000, 1, 1] { try log.append(count, length: 100) }
        let lookup = EventLookup(directory: log.directory)
        for sequence in [20_005, 1, 20_004, 3, 20_003, 4, 10_000, 19, 20, 35, 36] {
            try checkEvent(at: sequence, of: log, with: lookup, "sequence \(sequence)")
        }
        try log.writer.close()
    }

    @Test func `a thousand lookups in large batches read less than four times the bytes of the log`() throws {
        let log = try Log(segmentBytesMax: 64 << 20)
        for _ in 0..<10 { try log.append(10_000, length: 100) }
        let lookup = EventLookup(directory: log.directory)
        let bytes = try bytesRead(byRandomLookups: 1_000, in: log, with: lookup)
        let logBytes = log.lines.reduce(0) { $0 + $1.utf8.count + 1 }
        #expect(bytes < logBytes * 4, "\(bytes) bytes were read from a log of \(logBytes) bytes")
        try log.writer.close()
    }

    @Test
    func `a lookup that was told of each batch reads less than four kilobytes on average to find an event`() throws {
        let log = try Log(segmentBytesMax: 64 << 20)
        let lookup = EventLookup(directory: log.directory)
        log.writer.onAppend { lookup.note($0) }
        for _ in 0..<10 { try log.append(1_000, length: 100) }
        let bytes = try bytesRead(byRandomLookups: 100, in: log, with: lookup)
        #expect(bytes < 100 * 4 << 10, "100 lookups read \(bytes) bytes")
        try log.writer.close()
    }

    @Test(arguments: [(first: 100, later: 100), (first: 2_000, later: 20), (first: 20, later: 2_000)])
    func `a segment's first lookup reads less than a quarter of the segment`(length: (first: Int, later: Int)) throws {
        let segmentBytes = 4 << 20
        let log = try Log(segmentBytesMax: segmentBytes)
        while log.writer.segmentFirst == 1 {
            try log.append(50, length: log.lines.count < 1_000 ? length.first : length.later)
        }
        for tenth in 1...9 {
            let lookup = EventLookup(directory: log.directory)
            let before = try Self.bytesReadByThread()
            let sequence = Int(log.writer.segmentFirst) * tenth / 10
            try checkEvent(at: sequence, of: log, with: lookup, "sequence \(sequence)")
            let bytes = try Self.bytesReadByThread() - before
            #expect(bytes < segmentBytes / 4, "sequence \(sequence): the lookup read \(bytes) bytes")
        }
        try log.writer.close()
    }

    private func bytesRead(byRandomLookups count: Int, in log: Log, with lookup: EventLookup) throws -> Int {
        let before = try Self.bytesReadByThread()
        var random = Seeded(1)
        for _ in 0..<count {
            try checkEvent(at: 1 + random.below(log.lines.count), of: log, with: lookup, "a random event")
        }
        return try Self.bytesReadByThread() - before
    }

    /// How many bytes the calling thread has read from files (proc(5), `/proc/pid/io`).
    private static func bytesReadByThread() throws -> Int {
        let text = try String(contentsOfFile: "/proc/thread-self/io", encoding: .utf8)
        return try #require(text.firstMatch(of: /rchar: ([0-9]+)/).flatMap { Int($0.1) })
    }

    @Test func `the events of a removed segment are not found, and the others are`() throws {
        let log = try Log(segmentBytesMax: 1_000)
        for _ in 0..<3 { try log.append(10, length: 100) }
        let lookup = EventLookup(directory: log.directory)
        try checkEvent(at: 30, of: log, with: lookup, "before the removal")
        try FileManager.default.removeItem(atPath: log.directory + "/00000000000000000001.log")
        #expect(try lookup.read(1) { _ in } == nil)
        try checkEvent(at: 11, of: log, with: lookup, "after the removal")
        try log.writer.close()
    }

    @Test func `a log that does not exist yet has no events`() throws {
        let folder = try Folder()
        #expect(try EventLookup(directory: folder.path + "/none").read(1) { _ in } == nil)
    }

    @Test(arguments: [1, 400]) func `reading a damaged event fails`(count: Int) throws {
        let log = try Log()
        try log.append(count, length: 200)
        try log.writer.close()
        let segment = URL(fileURLWithPath: log.directory + "/00000000000000000001.log")
        var bytes = try Data(contentsOf: segment)
        bytes[bytes.count - 20] ^= 1
        try bytes.write(to: segment)
        #expect(throws: EventLogError.self) {
            try EventLookup(directory: log.directory).read(UInt64(count)) { _ in }
        }
    }

    @Test
    func `lookups of events after a damaged batch header fail, and the event of a torn batch is not found`() throws {
        let log = try Log()
        for _ in 0..<3 { try log.append(1, length: 20) }
        try log.writer.close()
        let segment = URL(fileURLWithPath: log.directory + "/00000000000000000001.log")
        let whole = try Data(contentsOf: segment)
        // The opening has 64 bytes. Each batch has a header of 64 bytes and a line.
        let second = 64 + 64 + log.lines[0].utf8.count + 1
        var damaged = whole
        damaged[second + 20] ^= 1
        try damaged.write(to: segment)
        let lookup = EventLookup(directory: log.directory)
        try checkEvent(at: 1, of: log, with: lookup, "before the damage")
        for sequence in 2...4 as ClosedRange<UInt64> {
            #expect(throws: EventLogError.self) { try lookup.read(sequence) { _ in } }
        }
        try whole.prefix(second + 20).write(to: segment)
        let fresh = EventLookup(directory: log.directory)
        try checkEvent(at: 1, of: log, with: fresh, "before the torn header")
        #expect(try fresh.read(2) { _ in } == nil)
    }
}
