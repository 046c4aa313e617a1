import Foundation
import TestSupport
import Testing
import Time

@testable import EventLog

@Suite struct HomeTests {
    let home: MemoryHome

    init() { self.init(MemoryHome()) }

    init(_ home: MemoryHome) { self.home = home }

    func writer(_ scratch: Scratch, segmentBytesMax: Int = 128 << 20) throws -> EventLogWriter {
        var options = scratch.options(segmentBytesMax: segmentBytesMax)
        options.home = home
        return try EventLogWriter(options)
    }

    @Test func `a batch is durable when the home has stored it`() throws {
        let scratch = Scratch()
        let writer = try writer(scratch)
        try writer.append([event(1), event(2)], cursor: Cursor(["changes": 7]), now: 5)
        try writer.flush()
        #expect(writer.durableSequence == 2)
        #expect(
            try home.batches()
                == [
                    ModelBatch(
                        first: 1, events: [event(1), event(2)], cursor: Cursor(["changes": 7]),
                        now: Instant(microseconds: 5))
                ])
    }

    @Test func `an empty folder is filled from the home with the same bytes`() throws {
        let (one, two) = (Scratch(), Scratch())
        let first = try writer(one, segmentBytesMax: 2_000)
        for number in 1...100 {
            try first.append(
                [event(number, padding: number)], cursor: Cursor(["changes": UInt64(number)]), now: Int64(number))
            if number % 7 == 0 { try first.flush() }
        }
        try first.close()
        let second = try writer(two, segmentBytesMax: 2_000)
        #expect(second.lastSequence == 100 && second.identity == first.identity && second.cursor == first.cursor)
        #expect(try one.segments.count > 3)
        for (left, right) in zip(try one.segments, try two.segments) {
            #expect(left.suffix(24) == right.suffix(24))
            #expect(try bytes(of: left) == bytes(of: right))
        }
        #expect(try one.segments.count == two.segments.count)
    }

    @Test func `what the home had not stored is cut off, together with the files that were made from it`() throws {
        let scratch = Scratch()
        var open: EventLogWriter? = try writer(scratch, segmentBytesMax: 300)
        try open?.append([event(1)], now: 1)
        try open?.flush()
        home.state.withLock { $0.fault = .before }
        for number in 2...20 {
            do { try open?.append([event(number, padding: 50)], now: Int64(number)) } catch { break }
        }
        open = nil
        #expect(try EventLogReader.all(scratch.log).count > 1)
        let again = try writer(scratch)
        #expect(again.lastSequence == 1 && again.recovery?.reason == "the home of the log had not stored these events")
        #expect(try EventLogReader.all(scratch.log) == home.batches())
        try again.append([event(2)], now: 30)
        try again.flush()
        #expect(try EventLogReader.all(scratch.log) == home.batches())
    }

    @Test func `a host that was replaced appends nothing more`() throws {
        let (one, two) = (Scratch(), Scratch())
        let first = try writer(one)
        try first.append([event(1)], now: 1)
        try first.flush()
        let second = try writer(two)
        try first.append([event(2)], now: 2)
        let replaced = #expect(throws: EventLogError.self) { try first.flush() }
        #expect(replaced == .replaced(log: "matches", reason: "by owner 2"))
        #expect(first.durableSequence == 1)
        try second.append([event(3)], now: 3)
        try second.flush()
        #expect(try home.batches().flatMap(\.events) == [event(1), event(3)])
    }

    @Test func `a host that continues after another one gets the other's events in place of its own`() throws {
        let (one, two) = (Scratch(), Scratch())
        var first: EventLogWriter? = try writer(one)
        try first?.append([event(1)], now: 1)
        try first?.flush()
        let second = try writer(two)
        try first?.append([event(2)], now: 2)
        #expect(throws: EventLogError.self) { try first?.flush() }
        first = nil
        try second.append([event(3), event(4)], now: 3)
        try second.close()
        let again = try writer(one)
        #expect(again.recovery?.reason == "the home of the log has other events there")
        #expect(try EventLogReader.all(one.log).flatMap(\.events) == [event(1), event(3), event(4)])
        #expect(again.cursor == second.cursor && again.lastNow == second.lastNow)
    }

    @Test func `a log knows whether another host, or another folder, has continued it`() throws {
        let (one, two) = (Scratch(), Scratch())
        func open(_ scratch: Scratch, host: String, appends: Bool = true) throws -> Bool {
            home.state.withLock { $0.host = host }
            let writer = try writer(scratch)
            if appends { try writer.append([event(1)], now: writer.lastNow.microseconds + 1) }
            try writer.close()
            return writer.continuesAnotherHost
        }
        #expect(try !open(one, host: "a"))
        #expect(try !open(one, host: "a", appends: false))
        #expect(try !open(one, host: "a"))
        #expect(try open(two, host: "b", appends: false))
        #expect(try open(one, host: "a"))
        #expect(try !open(one, host: "a"))
        #expect(try open(two, host: "b"))
        #expect(try open(Scratch(), host: "b"))
        let plain = Scratch()
        try plain.writer().close()
        let other = MemoryHome()
        #expect(try !HomeTests(other).writer(plain).continuesAnotherHost)
    }

    @Test func `a folder is filled from a home that begins later`() throws {
        let (one, two) = (Scratch(), Scratch())
        let first = try writer(one)
        for number in 1...5 {
            try first.append(
                [event(number)], cursor: Cursor(["changes": UInt64(number), "n\(number)": 9]), now: Int64(number))
            try first.flush()
        }
        home.trim(4)
        let second = try writer(two)
        #expect(second.cursor == first.cursor && second.lastSequence == 5)
        #expect(try EventLogReader.all(two.log).map(\.first) == [4, 5])
        #expect(try EventLogs.missingStart(directory: two.log) == nil)
        try second.close()
        let again = try writer(two)
        #expect(again.lastSequence == 5 && again.recovery == nil)
    }

    @Test(arguments: [1, 3, 10]) func `a trim removes the same events from the home, and keeps the files`(
        batchesOfMessage: Int
    ) throws {
        let (one, two) = (Scratch(), Scratch())
        let first = try writer(one, segmentBytesMax: 1_000)
        let note = UpstreamNote(log: "changes", identity: first.identity)
        try note.text.write(toFile: UpstreamNote.path(in: one.log), atomically: true, encoding: .utf8)
        try first.keepInHome(UpstreamNote.fileName, note.text)
        for number in 1...60 {
            try first.append(number % 4 == 0 ? [] : [event(number, padding: 60)], now: Int64(number))
            if number % batchesOfMessage == 0 { try first.flush() }
        }
        try first.flush()
        let messages = home.state.withLock { $0.messages.count }
        try first.trim(before: 30)
        let (start, left) = home.state.withLock { ($0.first, $0.messages.count) }
        #expect(start > 1 && left < messages)
        try first.append([event(61)], now: 61)
        try first.close()
        let second = try writer(two, segmentBytesMax: 1_000)
        #expect(second.lastSequence == first.lastSequence && second.cursor == first.cursor)
        #expect(try UpstreamNote.read(directory: two.log) == note)
        #expect(try EventLogReader.all(two.log) == home.batches())
        let (here, there) = (try EventLogReader.all(one.log), try EventLogReader.all(two.log))
        #expect(here.first?.first ?? 1 > 1 && there.first?.first ?? .max <= 30)
        #expect(Array(here.suffix(there.count)) == Array(there.suffix(here.count)))
        try second.close()
        // The local files begin at another place than the home.
        try FileManager.default.removeItem(atPath: HomeNote.path(in: one.log))
        #expect(try writer(one, segmentBytesMax: 1_000).recovery == nil)
    }

    @Test func `segments stay if the home cannot be trimmed`() throws {
        let scratch = Scratch()
        let first = try writer(scratch, segmentBytesMax: 300)
        for number in 1...20 { try first.append([event(number, padding: 60)], now: Int64(number)) }
        try first.keepInHome(UpstreamNote.fileName, "")
        try "".write(toFile: UpstreamNote.path(in: scratch.log), atomically: true, encoding: .utf8)
        let segments = try scratch.segments
        home.state.withLock { $0.fault = .before }
        #expect(throws: EventLogError.self) { try first.trim(before: 15) }
        #expect(try scratch.segments == segments && home.state.withLock { $0.first } == 1)
    }

    @Test func `the home keeps the two newest snapshots, and fills the folders of other hosts with them`() throws {
        let (one, two) = (Scratch(), Scratch())
        let first = try writer(one)
        try first.append([event(1)], now: 1)
        try first.flush()
        guard let keep = first.keepingSnapshotsInHome else {
            Issue.record("the log has no home")
            return
        }
        func snapshot(_ position: UInt64) throws -> SnapshotFile {
            let header = SnapshotHeader(
                stage: "match", version: 1, log: first.identity, upstream: first.identity,
                cursor: Cursor(["changes": position]), sequence: 1, now: .epoch)
            return try Array(repeating: UInt8(position), count: 1_000).withUnsafeBytes { state in
                try SnapshotStore(logDirectory: one.log).write(header, state: state)
            }
        }
        let files = try (1...3).map { try snapshot($0) }
        let kept = try files.map { try keep($0) }
        #expect(kept.last == Set(files.suffix(2).map(\.name)))
        #expect(try first.snapshotsInHome() == Set(files.suffix(2).map(\.name)))
        try first.close()
        let second = try writer(two)
        let filled = try SnapshotStore(logDirectory: two.log).list()
        #expect(filled.map(\.name) == files.suffix(2).map(\.name) && filled.allSatisfy { $0.header != nil })
        #expect(try filled.map { try bytes(of: $0.path) } == files.suffix(2).map { try bytes(of: $0.path) })
        try second.close()
    }

    @Test func `a folder that ends before the home begins is refused`() throws {
        let (one, two) = (Scratch(), Scratch())
        let second = try writer(two)
        try second.append([event(1)], now: 1)
        try second.close()
        let first = try writer(one)
        for number in 2...5 {
            try first.append([event(number)], now: Int64(number))
            try first.flush()
        }
        home.trim(5)
        #expect(throws: EventLogError.self) { try writer(two) }
        #expect(try EventLogReader.all(two.log).flatMap(\.events) == [event(1)])
    }

    @Test func `local files without a note, trimmed or not, are compared with the home and kept`() throws {
        let scratch = Scratch()
        let first = try writer(scratch, segmentBytesMax: 400)
        for number in 1...40 {
            try first.append(number % 4 == 0 ? [] : [event(number, padding: 60)], now: Int64(number))
        }
        try first.close()
        let all = try home.batches()
        for trimmed in [0, 9, 17, 24] as [UInt64] {
            let open = try writer(scratch, segmentBytesMax: 400)
            try open.trim(before: trimmed)
            try open.close()
            try FileManager.default.removeItem(atPath: HomeNote.path(in: scratch.log))
            let again = try writer(scratch, segmentBytesMax: 400)
            #expect(again.recovery == nil && again.lastSequence == 30)
            try again.close()
            let local = try EventLogReader.all(scratch.log)
            #expect(local == all.suffix(local.count) && local.count > 5)
        }
        #expect(try EventLogReader.all(scratch.log).count < 20)
    }

    @Test(arguments: [0, 7]) func `an existing log is copied to its new home, also if a crash interrupts the copying`(
        crashes: Int
    ) throws {
        let (scratch, other) = (Scratch(), Scratch())
        let plain = try scratch.writer(segmentBytesMax: 500)
        for number in 1...60 {
            let events = number % 5 == 0 ? [] : [event(number, padding: number)]
            try plain.append(events, cursor: Cursor(["changes": UInt64(number)]), now: Int64(number))
        }
        try plain.trim(before: 20)
        try plain.close()
        let before = try EventLogReader.all(scratch.log)
        for crash in 0..<crashes {
            home.state.withLock { $0.fault = crash % 2 == 0 ? .after : .before }
            #expect(throws: EventLogError.self) { try writer(scratch, segmentBytesMax: 500) }
        }
        let first = try writer(scratch, segmentBytesMax: 500)
        #expect(first.recovery == nil && first.lastSequence == 48)
        try first.append([event(61)], now: 61)
        try first.flush()
        #expect(try EventLogReader.all(scratch.log).dropLast() == before[...])
        let copied = try home.batches()
        #expect(copied == (try EventLogReader.all(scratch.log)))
        let second = try writer(other, segmentBytesMax: 500)
        #expect(second.lastSequence == 49 && second.cursor == first.cursor)
        #expect(try EventLogReader.all(other.log) == copied)
    }

    @Test func `a log that was written without its home for a while is copied when it has its home again`() throws {
        let scratch = Scratch()
        func append(_ number: Int, to writer: EventLogWriter) throws {
            try writer.append(
                [event(number, padding: 60)], cursor: Cursor(["changes": UInt64(number)]), now: Int64(number))
            try writer.close()
        }
        try append(1, to: try writer(scratch))
        try append(2, to: try scratch.writer(segmentBytesMax: 200))
        try append(3, to: try scratch.writer(segmentBytesMax: 200))
        let again = try writer(scratch)
        #expect(again.recovery == nil)
        try append(4, to: again)
        #expect(try home.batches().flatMap(\.events).count == 4)
        #expect(try EventLogReader.all(scratch.log) == home.batches())
    }

    @Test func `a log that was continued both without its home and by another host is refused`() throws {
        let (one, two) = (Scratch(), Scratch())
        let first = try writer(one)
        try first.append([event(1)], now: 1)
        try first.close()
        let plain = try one.writer()
        try plain.append([event(2)], now: 2)
        try plain.close()
        let second = try writer(two)
        try second.append([event(3)], now: 3)
        try second.close()
        let refused = #expect(throws: EventLogError.self) { try writer(one) }
        #expect("\(try #require(refused))".contains("it has other events from sequence 2 on"))
        #expect(try EventLogReader.all(one.log).flatMap(\.events) == [event(1), event(2)])
    }

    @Test func `a home that lost messages is refused, and nothing local is cut off`() throws {
        let scratch = Scratch()
        let first = try writer(scratch)
        for number in 1...3 {
            try first.append([event(number)], now: Int64(number))
            try first.flush()
        }
        try first.close()
        home.state.withLock { _ = $0.messages.removeLast() }
        #expect(throws: EventLogError.home(log: "matches", reason: "it has messages 1 to 3")) { try writer(scratch) }
        #expect(try EventLogReader.all(scratch.log).count == 3)
    }

    @Test func `local files that are shorter than what the home has stored are refused, with advice`() throws {
        let scratch = Scratch()
        let first = try writer(scratch)
        for number in 1...3 { try first.append([event(number)], now: Int64(number)) }
        try first.close()
        let segment = try #require(try scratch.segments.last)
        try write(Array(try bytes(of: segment).dropLast(10)), to: segment)
        let error = #expect(throws: EventLogError.self) { try writer(scratch) }
        #expect("\(try #require(error))".contains("it has stored events through 3"))
        #expect("\(try #require(error))".contains("move the folder \(scratch.log) away"))
    }

    @Test func `nothing is cut off if a shortened home and a missing note leave it open what was stored`() throws {
        let scratch = Scratch()
        let first = try writer(scratch)
        for number in 1...3 {
            try first.append([event(number)], now: Int64(number))
            try first.flush()
        }
        try first.close()
        home.state.withLock { _ = $0.messages.removeLast() }
        try FileManager.default.removeItem(atPath: HomeNote.path(in: scratch.log))
        let error = #expect(throws: EventLogError.self) { try writer(scratch) }
        #expect("\(try #require(error))".contains("home.json is missing or damaged"))
        #expect(try HomeRepair(directory: scratch.log, home: home).finding == .lostEnd(last: 2))
        #expect(try EventLogReader.all(scratch.log).count == 3)
    }

    @Test func `a home of another log is refused`() throws {
        let scratch = Scratch()
        try scratch.writer().close()
        home.state.withLock { $0.identity = LogIdentity(seed: "another", name: "matches") }
        #expect(throws: EventLogError.self) { try writer(scratch) }
    }

    @Test func `files beside the log are kept in the home, the newest counts`() throws {
        let (one, two, three) = (Scratch(), Scratch(), Scratch())
        let first = try writer(one)
        let settings = SettingsFile(
            lines: [
                SettingsFile.Line(after: 0, now: .epoch, text: #"{"after":0,"now":0,"kind":"match","settings":{}}"#)
            ],
            of: first.identity)
        try settings.write(in: LogDirectory(path: one.log))
        try first.keepInHome(SettingsFile.name, settings.text)
        try first.close()
        let second = try writer(two)
        #expect(try SettingsFile.read(logDirectory: two.log)?.text == settings.text)
        let note = UpstreamNote(log: "changes", identity: second.identity)
        try note.text.write(toFile: UpstreamNote.path(in: two.log), atomically: true, encoding: .utf8)
        try second.close()
        // A crash may come between writing a file and keeping it in the home.
        try writer(two).close()
        try writer(three).close()
        #expect(try UpstreamNote.read(directory: three.log) == note)
    }

    @Test(arguments: [[UInt8](), [1, 2, 3], Array(repeating: 0, count: 100)])
    func `a damaged message is refused`(bytes: [UInt8]) throws {
        home.state.withLock { $0.messages = [.batches(bytes)] }
        #expect(throws: EventLogError.self) { try writer(Scratch()) }
    }

    @Test func `a flipped bit anywhere in a message is refused`() throws {
        let first = try writer(Scratch())
        try first.append([event(1), event(2)], cursor: Cursor(["changes": 3]), now: 1)
        try first.append([event(3)], now: 2)
        try first.flush()
        let message = home.state.withLock { $0.messages[1] }
        guard case .batches(let bytes) = message else { throw CocoaError(.featureUnsupported) }
        for index in bytes.indices {
            var flipped = bytes
            flipped[index] ^= 1 << UInt8(index % 8)
            #expect(throws: EventLogError.self, "byte \(index)") {
                try HomeBatches(flipped, position: 1, of: "matches", first.identity)
            }
        }
        #expect(throws: EventLogError.self) {
            try HomeBatches(bytes.dropLast(), position: 1, of: "matches", first.identity)
        }
    }

    /// Random histories of two hosts that append, are stopped, crash before or after the home has stored a message, and
    /// take over from each other.
    @Test(arguments: Seeded.seeds)
    func `hosts that crash and replace each other lose and repeat no stored batch`(seed: UInt64) throws {
        var random = Seeded(seed)
        let scratches = [Scratch(), Scratch()]
        var writers: [EventLogWriter?] = [nil, nil]
        var (number, time) = (0, Int64(0))
        for _ in 0..<150 {
            let host = random.below(2)
            switch random.below(10) {
            case 0: writers[host] = nil
            case 1: home.state.withLock { $0.fault = random.below(2) == 0 ? .before : .after }
            case 2 where random.below(3) == 0:
                do throws(EventLogError) { try writers[host]?.trim(before: UInt64(random.below(number + 2))) } catch {
                    writers[host] = nil
                }
            default:
                do throws(EventLogError) {
                    if writers[host] == nil {
                        writers[host] = try opened(scratches[host], segmentBytesMax: 200 + 300 * random.below(3))
                    }
                    guard let writer = writers[host] else { continue }
                    for _ in 0..<random.below(4) {
                        (number, time) = (number + 1, time + 1)
                        try append(event(number, padding: random.below(200)), to: writer, time, random.below(5) == 0)
                    }
                    if random.below(3) == 0 { try writer.flush() }
                } catch {
                    writers[host] = nil
                    try moveAway(scratches[host], after: error)
                }
            }
        }
        home.state.withLock { $0.fault = nil }
        writers = [nil, nil]
        for scratch in scratches {
            do { try writer(scratch).close() } catch let error as EventLogError {
                try moveAway(scratch, after: error)
                try writer(scratch).close()
            }
            try expectSame(scratch)
        }
        let events = try home.batches().flatMap(\.events)
        #expect(Set(events).count == events.count)
    }

    /// Does what the error advises if the home no longer has the messages after the local ones.
    func moveAway(_ scratch: Scratch, after error: EventLogError) throws {
        guard case .home(_, let reason) = error, reason.hasPrefix("it has messages") else { return }
        try FileManager.default.removeItem(atPath: scratch.log)
    }

    /// Expects that the local files and the home have the same batches, as far as both reach back.
    func expectSame(_ scratch: Scratch) throws {
        let (local, stored) = (try EventLogReader.all(scratch.log), try home.batches())
        let count = min(local.count, stored.count)
        #expect(local.suffix(count) == stored.suffix(count))
        let isShort = (local.first?.first ?? 1) > 1 || (stored.first?.first ?? 1) > 1
        #expect(isShort || local.count == stored.count)
    }

    /// A new host that takes over: what is in its files then is exactly what the home has stored.
    func opened(_ scratch: Scratch, segmentBytesMax: Int) throws(EventLogError) -> EventLogWriter {
        var options = scratch.options(segmentBytesMax: segmentBytesMax)
        options.home = home
        let writer = try EventLogWriter(options)
        do { try expectSame(scratch) } catch { Issue.record(error) }
        return writer
    }

    func append(
        _ event: String, to writer: EventLogWriter, _ time: Int64, _ isEmpty: Bool
    ) throws(EventLogError) {
        let lines = isEmpty ? [] : Array("\(event)\n".utf8)
        try lines.withUnsafeBufferPointer { lines throws(EventLogError) in
            _ = try writer.append(
                UnsafeRawBufferPointer(lines), count: isEmpty ? 0 : 1, cursor: Cursor(["changes": UInt64(time)]),
                now: Instant(microseconds: max(time, writer.lastNow.microseconds)))
        }
    }
}
