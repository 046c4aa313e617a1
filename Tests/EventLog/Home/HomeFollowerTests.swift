import TestSupport
import Testing
import Time

@testable import EventLog

@Suite struct HomeFollowerTests {
    private let home = MemoryHome()

    private func options(_ scratch: Scratch, _ host: String) -> EventLogOptions {
        home.state.withLock { $0.host = host }
        var options = scratch.options(segmentBytesMax: 600)
        options.home = home
        return options
    }

    private func writer(_ scratch: Scratch, _ host: String, after end: UInt64? = nil) throws -> EventLogWriter {
        var options = options(scratch, host)
        options.endInHome = end
        return try EventLogWriter(options)
    }

    @Test func `a host that follows has the owner's events, and continues them when it takes over`() throws {
        var random = Seeded(Seeded.ofThisRun)
        let (one, two) = (Scratch(), Scratch())
        let owner = try writer(one, "a")
        var follower = try HomeFollower(options(two, "b"))
        for number in 1...60 {
            try owner.append([event(number, padding: random.below(80))], now: Int64(number))
            if random.isOneIn(3) { try owner.flush() }
            if random.isOneIn(4) { try follower.follow() }
            if random.isOneIn(15) {
                try follower.close()
                follower = try HomeFollower(options(two, "b"))
            }
        }
        try owner.flush()
        try follower.follow()
        #expect(!follower.isOwn && follower.lastSequence == 60)
        #expect(try EventLogReader.all(two.log) == EventLogReader.all(one.log))
        #expect(try follower.takeOver())
        try follower.close()
        let successor = try writer(two, "b", after: follower.position)
        #expect(successor.continuesAnotherHost && successor.lastSequence == 60)
        try successor.append([event(61)], now: 61)
        try successor.flush()
        #expect(try EventLogReader.all(two.log) == home.batches())
        try owner.append([event(99)], now: 99)
        #expect(throws: EventLogError.self) { try owner.flush() }
        #expect(try EventLogReader.all(two.log) == home.batches())
    }

    @Test func `a host does not take over if the owner has just written, or another host has just taken over`() throws {
        let (one, two, three) = (Scratch(), Scratch(), Scratch())
        let owner = try writer(one, "a")
        let (second, third) = (try HomeFollower(options(two, "b")), try HomeFollower(options(three, "c")))
        try second.follow()
        try third.follow()
        try owner.append([event(1)], now: 1)
        try owner.flush()
        #expect(try !second.takeOver())
        try second.follow()
        try third.follow()
        #expect(try second.takeOver() && !third.takeOver())
        try third.close()
        #expect(throws: EventLogError.replaced(log: "matches", reason: "another host has continued it at this moment"))
        {
            try writer(three, "c", after: third.position)
        }
    }

    @Test func `a log belongs to the host that wrote it last, also after that host was only started again`() throws {
        let (one, two) = (Scratch(), Scratch())
        let new = try HomeFollower(options(one, "a"))
        try new.follow()
        #expect(new.isOwn)
        try new.close()
        let owner = try writer(one, "a")
        try owner.append([event(1)], now: 1)
        try owner.close()
        let again = try HomeFollower(options(one, "a"))
        try again.follow()
        let other = try HomeFollower(options(two, "b"))
        try other.follow()
        #expect(again.isOwn && !other.isOwn)
    }

    @Test func `a host that follows removes the segments that the home has removed`() throws {
        let (one, two) = (Scratch(), Scratch())
        let owner = try writer(one, "a")
        let follower = try HomeFollower(options(two, "b"))
        for number in 1...60 {
            try owner.append([event(number, padding: 50)], now: Int64(number))
            try owner.flush()
        }
        try follower.follow()
        try follower.trim()
        let before = try two.segments.count
        try owner.trim(before: 40)
        try follower.trim()
        #expect(try before > 5 && two.segments.count < before)
        #expect(try EventLogReader.all(two.log).last == EventLogReader.all(one.log).last)
        let first = try #require(try EventLogReader.all(two.log).first?.first)
        #expect(try first <= #require(try home.batches().first?.first))
        #expect(try follower.takeOver())
        try follower.close()
        #expect(try writer(two, "b", after: follower.position).lastSequence == 60)
    }
}
