import EventLog
import Glibc
import JetStream
import NATS
import Synchronization
import TestSupport
import Testing

@testable import JetStreamHome

/// Two hosts at real servers.
@Suite(.serialized, .enabled(if: NATSServers.areTested, NATSServers.missing))
struct FollowerTests {
    @Test func `of two hosts that take a log over at the same moment, one wins`() async throws {
        let rounds = Tier.value(100, full: 1_000)
        let test = try TestHome()
        let race = Race(rounds)
        let options = try ["a", "b"].map { (name: $0, log: try test.options($0)) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (name, log) in options {
                group.addTask { try race.run(name, try HomeFollower(log)) }
            }
            try await group.waitForAll()
        }
        #expect(race.winners.count == rounds && race.winners.filter { $0.count != 1 } == [])
    }

    @Test func `beacons come to all hosts in order and are stored nowhere`() throws {
        let test = try TestHome()
        let (one, two) = (try test.home("a"), try test.home("b"))
        _ = try test.writer("a")
        let (first, second) = (try one.beacons(of: "changes"), try two.beacons(of: "changes"))
        _ = try two.beacons(of: "matches")
        let end = try test.jetStream().info(try JetStreamHome.stream(pipeline: "notes", log: "changes")).last
        let sent = (0..<20).map { Array("beacon \($0)".utf8) }
        for beacon in sent { first.send(beacon) }
        for beacons in [first, second] {
            var found: [[UInt8]] = []
            let end = ContinuousClock.now + .seconds(20)
            while found.count < 20, .now < end { found += beacons.receive(atMost: .milliseconds(100)) }
            #expect(found == sent)
        }
        #expect(try test.jetStream().info(try JetStreamHome.stream(pipeline: "notes", log: "changes")).last == end)
    }
}

/// Two threads that take a log over at the same moments.
private final class Race: Sendable {
    private let ofRounds: Mutex<[[String]]>
    private let arrived = Atomic(0)

    init(_ rounds: Int) { ofRounds = Mutex(Array(repeating: [], count: rounds)) }

    var winners: [[String]] { ofRounds.withLock { $0 } }

    func run(_ name: String, _ follower: HomeFollower) throws {
        for round in winners.indices {
            try follower.follow()
            arrived.add(1, ordering: .acquiringAndReleasing)
            while arrived.load(ordering: .acquiring) < 4 * round + 2 { usleep(10) }
            if try follower.takeOver() { ofRounds.withLock { $0[round].append(name) } }
            arrived.add(1, ordering: .acquiringAndReleasing)
        }
    }
}
