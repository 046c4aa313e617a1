import EventLog
import Glibc
import PipelineKit
import Synchronization
import TestSupport
import Testing
import Time

@testable import PipelineRuntime

/// What hosts conclude from each other's beacons.
@Suite struct OwnerLeaseTests {
    private let beacons = FakeBeacons()
    private let time = ControlledTime()
    private let plan: HostPlan
    private let hosts: HostsPlan

    init() throws {
        let file = try PipelineFile.parse(
            """
            pipeline: hosts
            log: {home: jetstream, servers: ["nats://127.0.0.1:4222"], takeOver: 60s}
            hosts: {a: {address: 127.0.0.1}, b: {address: 127.0.0.2}}
            stages:
              gate: {bind: "tcp://127.0.0.1:7401", door: "tcp://127.0.0.1:7402"}
            """, file: "p.yaml", registry: .plain
        ).on("a")
        var surroundings = HostSurroundings(registry: .plain, context: try HostContext())
        surroundings.time = time.time
        plan = try StageHost(file.sourceStage, of: file, in: surroundings).plan
        hosts = try #require(plan.hosts)
    }

    /// Some host has taken the log over with message 8.
    private func lease() -> OwnerLease {
        OwnerLease(plan, hosts, beacons, owner: 7, last: { 3 }, isOwner: { $0 == 8 })
    }

    private func beacon(_ host: String, owner: UInt64, ends: Bool = false) -> [UInt8] {
        HostMessage.beacon(OwnerBeacon(host: host, owner: owner, last: 3, time: .epoch, sent: 0, ends: ends)).bytes
    }

    /// Messages that say nothing about the owner.
    private var meaningless: [[UInt8]] {
        [
            [], Array("no JSON".utf8), Array(#"{"host":"b","owner":-1}"#.utf8), Array(repeating: 0x20, count: 8 << 20),
            Array(#"{"host":"b","owner":9,"last":3,"time":"yesterday","sent":0}"#.utf8), beacon("c", owner: 9),
            Array(beacon("b", owner: 9).dropLast()), beacon("b", owner: 6), beacon("a", owner: 9),
        ]
    }

    private func wait(for what: String, until isMet: () -> Bool) throws {
        let end = ContinuousClock.now + .seconds(30)
        while !isMet() {
            guard .now < end else { throw HostTestError("not reached: \(what)") }
            usleep(5_000)
        }
    }

    @Test func `a host that hears nothing of itself for a third of takeOver may have been replaced`() throws {
        let lease = lease()
        try wait(for: "a beacon") { !beacons.sent.isEmpty }
        #expect(lease.isFresh(at: plan.time.monotonicNow()))
        beacons.isCut.withLock { $0 = true }
        time.advance(by: .seconds(25))
        #expect(!lease.isFresh(at: plan.time.monotonicNow()))
        beacons.isCut.withLock { $0 = false }
        try wait(for: "an echo") { lease.isFresh(at: plan.time.monotonicNow()) }
    }

    @Test func `a host is replaced by the first later owner, and falls silent`() throws {
        let lease = lease()
        for message in meaningless { beacons.put(message) }
        try wait(for: "a second beacon") { beacons.sent.count > 1 }
        beacons.put(beacon("b", owner: 9))
        usleep(100_000)
        try lease.check()
        time.advance(by: .seconds(1))
        beacons.put(beacon("b", owner: 8))
        try wait(for: "the end") { !lease.isFresh(at: plan.time.monotonicNow()) }
        #expect(throws: EventLogError.replaced(log: "gate", reason: "by host b")) { try lease.check() }
        usleep(100_000)
        let sent = beacons.sent.count
        usleep(700_000)
        #expect(beacons.sent.count == sent)
    }

    @Test func `a host that gives a log up says so`() throws {
        let lease = lease()
        lease.giveUp()
        guard case .beacon(let last)? = beacons.sent.last.flatMap({ HostMessage($0) }) else {
            throw HostTestError("no last beacon")
        }
        #expect(last.ends && last.host == "a" && last.owner == 7 && last.last == 3)
    }

    @Test func `an owner answers the question who owns the log`() throws {
        let lease = lease()
        try wait(for: "a beacon") { !beacons.sent.isEmpty }
        beacons.put(HostMessage.question.bytes)
        try wait(for: "an answer within the time between two beacons") { beacons.sent.count > 1 }
        lease.end()
        beacons.put(HostMessage.question.bytes)
        usleep(700_000)
        #expect(beacons.sent.count == 2)
    }

    @Test func `a host is asked to give a log up by its name`() throws {
        let lease = lease()
        beacons.put(HostMessage.drain(host: "b").bytes)
        try wait(for: "a second beacon") { beacons.sent.count > 1 }
        #expect(!lease.isDrained)
        beacons.put(HostMessage.drain(host: "a").bytes)
        try wait(for: "the request") { lease.isDrained }
    }

    @Test func `an owner is silent after takeOver without a beacon, without a message and with a connection`() {
        let start = ContinuousClock.now
        func at(_ seconds: Int) -> ContinuousClock.Instant { start + .seconds(seconds) }
        var silence = Silence(hosts, start)
        silence.note(beacons, end: 7, hasNews: false, at: start)
        #expect(!silence.isOver(at: at(59)) && silence.isOver(at: at(79)))
        beacons.put(beacon("b", owner: 7))
        silence.note(beacons, end: 7, hasNews: false, at: at(50))
        #expect(!silence.isOver(at: at(109)) && silence.isOver(at: at(129)))
        for message in meaningless { beacons.put(message) }
        beacons.put(beacon("c", owner: 9, ends: true))
        silence.note(beacons, end: 7, hasNews: false, at: at(60))
        #expect(!silence.isOver(at: at(100)))
        silence.note(beacons, end: 8, hasNews: true, at: at(200))
        #expect(!silence.isOver(at: at(259)))
        beacons.isCut.withLock { $0 = true }
        silence.note(beacons, end: 8, hasNews: false, at: at(300))
        #expect(!silence.isOver(at: at(359)) && silence.isOver(at: at(379)))
    }

    @Test func `a log that its owner gives up may be taken over at once, but not if a later owner has it`() {
        let start = ContinuousClock.now
        var silence = Silence(hosts, start)
        beacons.put(beacon("b", owner: 7, ends: true))
        silence.note(beacons, end: 7, hasNews: false, at: start)
        #expect(silence.isOver(at: start) && silence.reason == "host b gave it up")
        beacons.put(beacon("a", owner: 8))
        silence.note(beacons, end: 8, hasNews: true, at: start)
        beacons.put(beacon("b", owner: 7, ends: true))
        silence.note(beacons, end: 8, hasNews: false, at: start)
        #expect(!silence.isOver(at: start))
    }

    @Test func `an owner that was heard is known until it gives the log up or is silent`() {
        let start = ContinuousClock.now
        var silence = Silence(hosts, start)
        beacons.put(beacon("a", owner: 9))
        silence.note(beacons, end: 7, hasNews: false, at: start)
        #expect(silence.owner(at: start) == nil)
        beacons.put(beacon("b", owner: 7))
        silence.note(beacons, end: 7, hasNews: false, at: start)
        #expect(silence.owner(at: start) == "b" && silence.owner(at: start + .seconds(79)) == nil)
        beacons.put(beacon("b", owner: 7, ends: true))
        silence.note(beacons, end: 7, hasNews: false, at: start)
        #expect(silence.owner(at: start) == nil)
    }

    @Test func `readers follow the latest owner that the file names`() {
        let watch = OwnerWatch(hosts.all, beacons)
        for message in meaningless.dropLast() { beacons.put(message) }
        #expect(watch.owner()?.name == "b")
        beacons.put(beacon("a", owner: 8))
        beacons.put(beacon("b", owner: 7))
        beacons.put(beacon("c", owner: 9))
        #expect(watch.owner()?.name == "a")
    }

    @Test func `a beacon with a number that no owner has misleads readers only for a while`() {
        let watch = OwnerWatch(hosts.all, beacons, now: time.time.monotonicNow)
        beacons.put(beacon("b", owner: .max >> 1))
        beacons.put(beacon("a", owner: 8))
        #expect(watch.owner()?.name == "b")
        time.advance(by: .seconds(3))
        beacons.put(beacon("a", owner: 8))
        #expect(watch.owner()?.name == "a")
    }
}

/// Beacons that go to the sender alone.
final class FakeBeacons: HomeBeacons {
    private let waiting = Mutex<[[UInt8]]>([])
    private let all = Mutex<[[UInt8]]>([])
    /// Whether there is no connection.
    let isCut = Mutex(false)

    var sent: [[UInt8]] { all.withLock { $0 } }

    func put(_ message: [UInt8]) { waiting.withLock { $0.append(message) } }

    func send(_ message: [UInt8]) {
        guard isConnected else { return }
        all.withLock { $0.append(message) }
        put(message)
    }

    func receive(atMost limit: Duration) -> [[UInt8]] {
        let end = ContinuousClock.now + limit
        repeat {
            let messages = waiting.withLock { waiting in
                defer { waiting = [] }
                return waiting
            }
            guard messages.isEmpty, limit > .zero else { return messages }
            usleep(2_000)
        } while .now < end
        return []
    }

    var losses: Int { 0 }
    var isConnected: Bool { !isCut.withLock { $0 } }
}
