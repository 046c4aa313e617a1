import EventLog
import Foundation
import Glibc
import Synchronization
import Testing
import Time

@Suite struct WriterTests {
    @Test func `a reader returns the batches that a writer appended`() throws {
        let scratch = Scratch()
        let writer = try scratch.writer()
        #expect(try writer.append(["{}", event(2)], cursor: Cursor(["changes": 7]), now: 10) == 1)
        #expect(try writer.append([], cursor: Cursor(["changes": 9]), now: 10) == 3)
        #expect(try writer.append([event(3, padding: 5000)], now: 12) == 3)
        #expect(writer.lastSequence == 3 && writer.nextSequence == 4)
        #expect(
            try EventLogReader.all(scratch.log) == [
                ModelBatch(
                    first: 1, events: ["{}", event(2)], cursor: Cursor(["changes": 7]), now: .init(microseconds: 10)),
                ModelBatch(first: 3, events: [], cursor: Cursor(["changes": 9]), now: .init(microseconds: 10)),
                ModelBatch(first: 3, events: [event(3, padding: 5000)], cursor: Cursor(), now: .init(microseconds: 12)),
            ])
    }

    @Test func `a reopened log continues after its last event`() throws {
        let scratch = Scratch()
        let first = try scratch.writer()
        try first.append([event(1)], cursor: Cursor(["a": 1, "b": 2]), now: 5)
        try first.append([event(2)], cursor: Cursor(["b": 3]), now: 6)
        try first.close()
        var options = scratch.options()
        options.identity = .random()
        let second = try EventLogWriter(options)
        #expect(second.identity == first.identity)
        #expect(second.nextSequence == 3)
        #expect(second.lastNow == Instant(microseconds: 6))
        #expect(second.cursor == Cursor(["a": 1, "b": 3]))
        #expect(second.recovery == nil)
        #expect(try second.append([event(3)]) == 3)
    }

    @Test func `the cursor is kept when segments are removed`() throws {
        let scratch = Scratch()
        let writer = try scratch.writer(segmentBytesMax: 500)
        try writer.append([event(1)], cursor: Cursor(["once": 1]), now: 1)
        for number in 2...20 {
            try writer.append([event(number, padding: 100)], cursor: Cursor(["often": UInt64(number)]))
        }
        try writer.close()
        for path in try scratch.segments.dropLast() { try #require(unlinkSucceeds(path)) }
        let reopened = try scratch.writer()
        #expect(reopened.cursor == Cursor(["once": 1, "often": 20]))
        #expect(reopened.nextSequence == 21)
        #expect(throws: EventLogError.self) { try EventLogReader(directory: scratch.log, from: .sequence(1)) }
    }

    @Test func `a second writer is refused, and the error names the log and the first writer's process`() throws {
        let scratch = Scratch()
        let writer = try scratch.writer()
        let error = #expect(throws: EventLogError.self) { try scratch.writer() }
        #expect(error == .alreadyOpen(name: "matches", directory: scratch.log, process: processNumber()))
        #expect(error?.description.contains("log 'matches' in \(scratch.log) is already open in process") == true)
        try writer.close()
        _ = try scratch.writer()
    }

    /// A child process that another thread starts has a copy of the lock's descriptor between fork and exec.
    @Test func `a copy of the lock's descriptor does not lock a closed log`() throws {
        let scratch = Scratch()
        let writer = try scratch.writer()
        let copy = dup(try #require(try descriptor(of: scratch.log + "/lock")))
        defer { close(copy) }
        try writer.close()
        _ = try scratch.writer()
    }

    private func descriptor(of path: String) throws -> CInt? {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap(CInt.init).first { number in
            let link = "/proc/self/fd/\(number)"
            return (try? FileManager.default.destinationOfSymbolicLink(atPath: link)) == path
        }
    }

    @Test(arguments: ["", ".", "..", ".hidden", "a/b", "a b", "é", String(repeating: "a", count: 65)])
    func `a name that is not valid for a log is refused`(name: String) {
        let scratch = Scratch()
        #expect(throws: EventLogError.invalidName(name)) {
            try EventLogWriter(EventLogOptions(directory: scratch.path, name: name))
        }
    }

    @Test func `a batch over a limit is refused and appends nothing`() throws {
        let scratch = Scratch()
        let writer = try scratch.writer()
        let largest = String(repeating: "x", count: EventLogLimits.eventBytesMax - 1)
        try writer.append([largest])
        #expect(throws: EventLogError.self) { try writer.append([largest + "x"]) }
        #expect(throws: EventLogError.self) { try writer.append(Array(repeating: largest, count: 33)) }
        let longName = String(repeating: "n", count: EventLogLimits.cursorNameBytesMax + 1)
        #expect(throws: EventLogError.self) { try writer.append([], cursor: Cursor([longName: 1])) }
        try writer.append(Array(repeating: largest, count: 32))
        #expect(writer.lastSequence == 33)
        try writer.close()
        #expect(try scratch.writer().lastSequence == 33)
    }

    @Test func `segments are named by their first sequence`() throws {
        let scratch = Scratch()
        let writer = try scratch.writer(segmentBytesMax: 400)
        for _ in 0..<6 { try writer.append([], cursor: Cursor(["a": 1])) }
        for number in 1...5 { try writer.append([event(number, padding: 150)]) }
        let names = try scratch.segments.map { String($0.suffix(24)) }
        #expect(names == (1...5).map { "0000000000000000000\($0).log" })
        #expect(try EventLogReader.all(scratch.log).flatMap(\.events).count == 5)
    }

    @Test func `a log without its manifest is not opened for writing`() throws {
        let scratch = Scratch()
        let writer = try scratch.writer()
        try writer.append([event(1)])
        try writer.close()
        try #require(unlinkSucceeds(scratch.log + "/log.json"))
        #expect(throws: EventLogError.withoutManifest(directory: scratch.log)) { try scratch.writer() }
    }

    /// A smaller batch still fits into the previous segment, so the previous segment must be the last one again.
    @Test func `a segment that could not be started is removed`() throws {
        let scratch = Scratch()
        let fails = Mutex(false)
        var options = scratch.options(segmentBytesMax: 500)
        options.calls.syncAll = { descriptor in
            guard fails.withLock({ $0 }) else { return fsync(descriptor) }
            errno = EIO
            return -1
        }
        let writer = try EventLogWriter(options)
        try writer.append([event(1, padding: 150)])
        fails.withLock { $0 = true }
        #expect(throws: EventLogError.self) { try writer.append([event(2, padding: 400)]) }
        fails.withLock { $0 = false }
        #expect(try scratch.segments.count == 1)
        try writer.append([event(2)])
        try writer.append([event(3, padding: 400)])
        try writer.close()
        #expect(try EventLogs.verify(directory: scratch.log).isSound)
        #expect(try EventLogReader.all(scratch.log).flatMap(\.events).count == 3)
        #expect(try scratch.writer().lastSequence == 3)
    }
}
