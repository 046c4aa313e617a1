import Foundation
import Synchronization
import TestSupport
import Testing

@testable import EventLog

@Suite struct LogIndexTests {
    /// Writes one event in each batch, with the names a to g in turn. Sixty events fill at least three segments with
    /// several blocks each.
    private func writeLog(in scratch: Scratch, events: Int = 60) throws {
        let writer = try scratch.writer(segmentBytesMax: 2_500)
        for number in 0..<events {
            let name = String(UnicodeScalar(UInt8(ascii: "a") + UInt8(number % 7)))
            try writer.append([IndexedLog.event(name, padding: number)], now: Int64(number))
        }
        try writer.close()
    }

    @Test func `an index finds the same events as a scan`() throws {
        let scratch = Scratch()
        try writeLog(in: scratch)
        try #require(try scratch.segments.count > 2)
        let events = try IndexedLog.scan(scratch)
        for _ in 0..<2 { try IndexedLog.expectRight(IndexedLog.index(scratch), events) }
        try IndexedLog.expectRight(IndexedLog.index(scratch, usesFiles: false), events)
    }

    @Test func `a search can have a range, a limit and the newest event first`() throws {
        let scratch = Scratch()
        try writeLog(in: scratch)
        let index = try IndexedLog.index(scratch)
        let key = IndexedLog.key("c")
        #expect(try index.events(with: key, in: 10...31).map(\.sequence) == [10, 17, 24, 31])
        #expect(try index.events(with: key, newestFirst: true, limit: 3).map(\.sequence) == [59, 52, 45])
        #expect(try index.events(with: key, in: 11...30, newestFirst: true).map(\.sequence) == [24, 17])
        #expect(try index.events(with: key, limit: 0).isEmpty)
    }

    @Test func `a search for several keys finds events with all of them`() throws {
        let scratch = Scratch()
        let writer = try scratch.writer(segmentBytesMax: 2_500)
        for number in 0..<100 { try writer.append([IndexedLog.event("\(number % 4)", padding: number % 6)]) }
        let scheme = KeyScheme(name: "two", version: 1) {
            { line, keys in keys += [UInt64(line[6]), UInt64(1_000 + line.count)] }
        }
        let index = try LogIndex(directory: scratch.log, scheme: scheme, limits: IndexedLog.limits)
        try index.update()
        let nameKey = UInt64(UInt8(ascii: "3"))
        let lengthKey = UInt64(1_000 + IndexedLog.event("3", padding: 5).utf8.count)
        var found: [UInt64] = []
        try index.find([nameKey, lengthKey]) { event in
            found.append(event.sequence)
            return found.count < 3
        }
        #expect(found == [12, 24, 36])
    }

    @Test func `an event is read by its sequence`() throws {
        let scratch = Scratch()
        try writeLog(in: scratch)
        let (index, events) = try (IndexedLog.index(scratch), IndexedLog.scan(scratch))
        for event in events { #expect(try index.event(at: event.sequence) == event) }
        #expect(try index.event(at: 61) == nil)
        #expect(throws: EventLogError.gone(directory: scratch.log, sequence: 0, first: 1)) { try index.event(at: 0) }
    }

    @Test func `a search skips the blocks whose filters do not have the wanted key`() throws {
        let scratch = Scratch()
        try writeLog(in: scratch)
        let index = try IndexedLog.index(scratch)
        // Damage is only noticed in the blocks that are read.
        let path = try scratch.segments[0]
        var damaged = try bytes(of: path)
        damaged[damaged.count / 2] ^= 1
        try write(damaged, to: path)
        #expect(try index.events(with: IndexedLog.key("nobody")).isEmpty)
        #expect(throws: EventLogError.self) { try index.events(with: IndexedLog.key("a")) }
    }

    @Test func `indexed segments are not read again`() throws {
        let scratch = Scratch()
        try writeLog(in: scratch)
        _ = try IndexedLog.index(scratch)
        let counted = Mutex(0)
        let index = try LogIndex(
            directory: scratch.log,
            scheme: KeyScheme(name: "test", version: 1) { { _, _ in counted.withLock { $0 += 1 } } },
            limits: IndexedLog.limits)
        try index.update()
        #expect(counted.withLock { $0 } < 5, "more events were read than those of the last block, which is not full")
    }

    @Test func `index files of removed segments are removed`() throws {
        let scratch = Scratch()
        try writeLog(in: scratch)
        let index = try IndexedLog.index(scratch)
        let files = try IndexedLog.indexFiles(scratch)
        try #require(unlinkSucceeds(try scratch.segments[0]))
        try index.update()
        #expect(!FileManager.default.fileExists(atPath: files[0]))
        #expect(FileManager.default.fileExists(atPath: files[1]))
        try IndexedLog.expectRight(index, IndexedLog.scan(scratch))
        #expect(throws: EventLogError.self) { try index.event(at: 1) }
    }

    @Test func `an index of an empty log finds nothing`() throws {
        let scratch = Scratch()
        _ = try scratch.writer()
        let index = try IndexedLog.index(scratch)
        #expect(index.firstSequence == 1 && index.lastSequence == 0)
        #expect(try index.events(with: 0).isEmpty)
        #expect(try index.event(at: 1) == nil)
        #expect(throws: EventLogError.notALog(directory: scratch.path)) {
            try LogIndex(directory: scratch.path, scheme: IndexedLog.scheme())
        }
    }

    @Test func `an index is kept in memory if no files can be made`() throws {
        let scratch = Scratch()
        try writeLog(in: scratch)
        // A file in place of the folder prevents writing, even for root.
        try write([], to: scratch.log + "/index")
        let index = try IndexedLog.index(scratch)
        try IndexedLog.expectRight(index, IndexedLog.scan(scratch))
        let writer = try scratch.writer()
        for _ in 0..<9 { try writer.append([IndexedLog.event("late")], now: 99) }
        try index.update()
        try IndexedLog.expectRight(index, IndexedLog.scan(scratch))
    }

    @Test func `the last progress report covers the whole log`() throws {
        let scratch = Scratch()
        try writeLog(in: scratch)
        let index = try LogIndex(directory: scratch.log, scheme: IndexedLog.scheme(), limits: IndexedLog.limits)
        let seen = Mutex<[LogIndex.Progress]>([])
        try index.update { progress in seen.withLock { $0.append(progress) } }
        let last = try #require(seen.withLock { $0.last })
        #expect(last.bytesDone == last.bytes && last.bytes > 5_000)
    }

    @Test func `two indexes of one log can both be updated while the log grows`() throws {
        let scratch = Scratch()
        try writeLog(in: scratch, events: 20)
        let (left, right) = try (IndexedLog.index(scratch), IndexedLog.index(scratch))
        let writer = try scratch.writer(segmentBytesMax: 2_500)
        for number in 0..<40 {
            try writer.append([IndexedLog.event("late\(number % 3)", padding: 40)], now: 99)
            if number % 4 == 0 { try left.update() }
            if number % 6 == 0 { try right.update() }
        }
        for index in [left, right] {
            try index.update()
            try IndexedLog.expectRight(index, IndexedLog.scan(scratch))
        }
        #expect(
            try LogIndex.verify(directory: scratch.log, scheme: IndexedLog.scheme(), limits: IndexedLog.limits)
                .isSound)
    }

    @Test func `the hash of an index key is the same in every build`() {
        var hash = KeyHash(kind: 1)
        hash.absorb("a record's name")
        hash.absorb(17)
        #expect(hash.value == 0x2501_2369_0863_7E1C)
    }

    @Test func `a filter rarely answers "maybe" for a missing key`() {
        var random = Seeded(5)
        var set = KeySet()
        let keys = (0..<20_000).map { _ in random.next() }
        for key in keys + keys { set.insert(key) }
        #expect(set.keys == keys)
        let bytes = BlockFilter.bytes(for: keys, salt: 3)
        let lines = BlockFilter.lineCount(keys: keys.count)
        #expect(bytes.count == lines * 64 && bytes.count < keys.count * 5 / 2)
        func query(_ key: UInt64) -> BlockFilter.Answer {
            let line = BlockFilter.line(of: key, among: lines)
            return bytes.withUnsafeBytes {
                BlockFilter.query(
                    key, in: UnsafeRawBufferPointer(rebasing: $0[(line * 64)..<(line * 64 + 64)]), line: line, salt: 3)
            }
        }
        #expect(keys.allSatisfy { query($0) == .maybe })
        let wrong = (0..<100_000).count { _ in query(random.next()) != .no }
        #expect(wrong < 300, "\(wrong) of 100,000")
    }
}
