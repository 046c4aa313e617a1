import Foundation
import TestSupport
import Testing
import Time

@testable import EventLog

/// `belfry log repair` for logs that have a home.
extension HomeTests {
    /// A log of 20 events, two in a message, whose first 8 events retention has removed from the local files.
    private func closedLog(_ scratch: Scratch, isTrimmed: Bool) throws {
        let first = try writer(scratch, segmentBytesMax: 400)
        for number in 1...20 {
            try first.append(
                [event(number, padding: 60)], cursor: Cursor(["changes": UInt64(number)]), now: Int64(number))
            if number % 2 == 0 { try first.flush() }
        }
        if isTrimmed { try first.trim(before: 9) }
        try first.close()
    }

    @Test(arguments: [true, false]) func `a home that lost its end gets it again after a repair`(isTrimmed: Bool) throws
    {
        for lost in 1...20 {
            let scratch = Scratch()
            let home = MemoryHome()
            let tests = HomeTests(home)
            try tests.closedLog(scratch, isTrimmed: isTrimmed)
            let before = try EventLogReader.all(scratch.log)
            let isGone = home.state.withLock { state in
                state.messages.removeLast(min(lost, state.messages.count))
                return state.messages.isEmpty
            }
            #expect(throws: EventLogError.self) { try tests.writer(scratch, segmentBytesMax: 400) }
            var repair: HomeRepair? = try HomeRepair(directory: scratch.log, home: home)
            let finding = try #require(repair?.finding)
            guard case .lostEnd(let last) = finding else {
                Issue.record("\(lost) messages are missing, but the finding is \(finding)")
                return
            }
            #expect(last < 20 && (!isGone || last == 0))
            #expect(throws: EventLogError.self) { try tests.writer(scratch, segmentBytesMax: 400) }
            try repair?.apply()
            repair = nil
            let again = try tests.writer(scratch, segmentBytesMax: 400)
            #expect(again.recovery == nil && again.lastSequence == 20)
            try again.append([event(21)], cursor: Cursor(["changes": 21]), now: 21)
            try again.close()
            #expect(try EventLogReader.all(scratch.log).dropLast() == before[...])
            let other = Scratch()
            let second = try tests.writer(other)
            #expect(second.lastSequence == 21 && second.cursor == again.cursor)
            try tests.expectSame(other)
            try tests.expectSame(scratch)
        }
    }

    @Test func `a damaged home is removed by a repair, and filled again`() throws {
        let scratch = Scratch()
        try closedLog(scratch, isTrimmed: false)
        let before = try EventLogReader.all(scratch.log)
        home.state.withLock { state in
            guard case .batches(var bytes) = state.messages[4] else { return }
            bytes[bytes.count / 2] ^= 1
            state.messages[4] = .batches(bytes)
        }
        var repair: HomeRepair? = try HomeRepair(directory: scratch.log, home: home)
        guard case .damaged(let reason)? = repair?.finding else {
            Issue.record("the finding is \(String(describing: repair?.finding))")
            return
        }
        #expect(reason.hasPrefix("message 5 is damaged"))
        try repair?.apply()
        repair = nil
        try writer(scratch).close()
        #expect(try EventLogReader.all(scratch.log) == before && home.batches() == before)
    }

    @Test func `a repair changes nothing if the home is whole, and nothing if it has other events`() throws {
        let (one, two) = (Scratch(), Scratch())
        try closedLog(one, isTrimmed: false)
        #expect(try HomeRepair(directory: one.log, home: home).finding == .complete)
        let second = try writer(two)
        try second.append([event(21)], now: 21)
        try second.close()
        // The home has more than this host.
        #expect(try HomeRepair(directory: one.log, home: home).finding == .complete)
        try one.writer().close()
        let plain = try one.writer()
        try plain.append([event(22)], now: 22)
        try plain.close()
        let error = #expect(throws: EventLogError.self) { try HomeRepair(directory: one.log, home: home) }
        #expect("\(try #require(error))".contains("it has other events from sequence 21 on"))
        #expect(throws: EventLogError.self) { try HomeRepair(directory: Scratch().log, home: home) }
    }

    @Test func `a host that did not write the log last cannot repair it`() throws {
        let (one, two) = (Scratch(), Scratch())
        try closedLog(one, isTrimmed: false)
        let second = try writer(two)
        try second.append([event(21)], cursor: Cursor(["changes": 21]), now: 21)
        try second.flush()
        guard let keep = second.keepingSnapshotsInHome else {
            Issue.record("the log has no home")
            return
        }
        let header = SnapshotHeader(
            stage: "match", version: 1, log: second.identity, upstream: second.identity,
            cursor: Cursor(["changes": 21]), sequence: 21, now: second.lastNow)
        let store = SnapshotStore(logDirectory: two.log)
        _ = try keep(try [1, 2, 3].withUnsafeBytes { try store.write(header, state: $0) })
        try second.close()
        try home.remove("matches")
        let error = #expect(throws: EventLogError.self) { try HomeRepair(directory: one.log, home: home) }
        #expect("\(try #require(error))".contains("made at sequence 21, but \(one.log) ends with 20"))
        #expect(try HomeRepair(directory: two.log, home: home).finding == .missing)
    }

    @Test func `a damaged local segment is refused with the advice to fill the folder again`() throws {
        let scratch = Scratch()
        try closedLog(scratch, isTrimmed: false)
        let segment = try #require(try scratch.segments.last)
        var damaged = try bytes(of: segment)
        damaged[BatchFormat.headerBytes + 3] ^= 1
        try write(damaged, to: segment)
        let error = #expect(throws: EventLogError.self) { try writer(scratch) }
        #expect("\(try #require(error))".contains("Move the folder \(scratch.log) away"))
        try FileManager.default.removeItem(atPath: scratch.log)
        #expect(try writer(scratch).lastSequence == 20)
    }

    @Test func `a log that its home does not have any more is stored again after a repair`() throws {
        let scratch = Scratch()
        try closedLog(scratch, isTrimmed: true)
        let before = try EventLogReader.all(scratch.log)
        try home.remove("matches")
        var repair: HomeRepair? = try HomeRepair(directory: scratch.log, home: home)
        #expect(repair?.finding == .missing)
        try repair?.apply()
        repair = nil
        try writer(scratch).close()
        #expect(try EventLogReader.all(scratch.log) == before && home.batches() == before)
    }
}
