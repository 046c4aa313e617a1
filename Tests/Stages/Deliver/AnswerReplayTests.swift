import PipelineKit
import TestSupport
import Testing
import Time

@testable import Deliver

/// A replay of the log repeats a history in which answers come in any order, between events and wakes.
struct AnswerReplayTests {
    @Test(arguments: Seeded.seeds)
    func `a replay writes the same events, no matter when the answers came`(seed: UInt64) throws {
        var draw = Seeded(seed)
        for _ in 0..<8 {
            let history = try LiveHistory(&draw)
            let replayedLines = try history.replayed(restartsAfterEachBatch: false)
            let place = zip(replayedLines, history.lines).enumerated().first { $1.0 != $1.1 }
            #expect(replayedLines == history.lines, "seed \(seed): \(String(describing: place))")
        }
    }

    @Test(arguments: Seeded.seeds)
    func `a restart after each batch changes no event of the replay`(seed: UInt64) throws {
        var draw = Seeded(seed)
        let history = try LiveHistory(&draw)
        #expect(try history.replayed(restartsAfterEachBatch: true) == history.lines, "seed \(seed)")
    }

    @Test(arguments: Seeded.seeds)
    func `no push ends twice at a device, and no waiting push or notice is lost`(seed: UInt64) throws {
        var draw = Seeded(seed)
        let history = try LiveHistory(&draw)
        let ends = try history.lines.filter { try member("type", of: $0) == "outcome" }.map {
            "\(try member("push", of: $0) ?? "") \(try member("device", of: $0) ?? "")"
        }
        #expect(Set(ends).count == ends.count, "seed \(seed)")
        let waiting = try history.lines.filter { try member("type", of: $0) == "attempt" }.map {
            "\(try member("push", of: $0) ?? "") \(try member("device", of: $0) ?? "")"
        }
        #expect(Set(waiting).subtracting(ends).count == history.pendingAtEnd, "seed \(seed)")
        let retired = try history.retirements("device.retired")
        #expect(try retired.count == history.noticesAtEnd + history.retirements("notice.outcome").count, "seed \(seed)")
        #expect(try Set(retired).isSuperset(of: history.retirements("notice.attempt")), "seed \(seed)")
        #expect(!waiting.isEmpty, "seed \(seed)")
    }
}

/// Simulates a host with its log, and transports that defer and reject pushes and stop apps.
private struct LiveHistory {
    private struct Batch {
        var cursor: Int
        var now: Instant
        /// The number of lines in the log after the batch.
        var lines: Int
    }

    private var events: [(line: String, time: Instant)] = []
    private var batches: [Batch] = []
    private(set) var lines: [String] = []
    /// The number of pushes that still wait at the end.
    private(set) var pendingAtEnd = 0
    /// The number of retired devices without a `notice.outcome` at the end.
    private(set) var noticesAtEnd = 0
    private let settings: String
    private var clock: StageClock<DeliverStage>
    /// The deliveries without an answer.
    private var open: [Delivery] = []
    private var answerModes: [String: Int] = [:]

    init(_ draw: inout Seeded) throws {
        settings =
            "transports: {apns: {use: file}, hook: {use: webhook}}"
            + draw.one(of: ["", "\nretryFor: 5m\npendingMax: 3"])
            + draw.one(of: ["", "\nretryTo: first", "\nretryTo: latest"])
            + draw.one(of: ["", "\nretired: {url: x}"])
        clock = StageClock(try DeliverHarness(settings: settings).stage)
        var time = Instant(microseconds: 1_700_000_000_000_000)
        for _ in 0..<300 {
            if !draw.isOneIn(3) {
                time = time.advanced(by: .microseconds(draw.one(of: [1, 50_000, 2_000_000, 90_000_000])))
            }
            try feed(Self.event(&draw, time), at: time)
            if draw.isOneIn(4) { commit() }
            if draw.isOneIn(3) { answer(&draw, at: time.advanced(by: .milliseconds(draw.below(5_000)))) }
        }
        repeat { answer(&draw, at: clock.now.advanced(by: .milliseconds(draw.below(5_000)))) } while !open.isEmpty
        pendingAtEnd = clock.stage.pending.inOrder.count { !$0.isNotice }
        noticesAtEnd =
            settings.contains("retired:")
            ? clock.stage.pending.count - pendingAtEnd : try retirements("device.retired").count
    }

    private mutating func feed(_ line: String, at time: Instant) throws {
        var out = Outbox()
        events.append((line, time))
        try InputEvent.read(line, sequence: UInt64(events.count)) { clock.receive($0, at: time, into: &out) }
        collect(&out)
    }

    private mutating func commit() {
        batches.append(Batch(cursor: events.count, now: clock.now, lines: lines.count))
    }

    /// Answers some of the deliveries, in any order.
    private mutating func answer(_ draw: inout Seeded, at time: Instant) {
        commit()
        var out = Outbox()
        clock.advance(to: time, into: &out)
        collect(&out)
        commit()
        open.shuffle(using: &draw)
        for delivery in open.prefix(draw.below(open.count + 1)) {
            open.removeFirst()
            clock.receive(Self.answer(delivery, clock.now, &draw, &answerModes), into: &out)
        }
        collect(&out)
        commit()
    }

    private mutating func collect(_ out: inout Outbox) {
        open += out.takeDeliveries()
        lines += String(decoding: out.lines, as: UTF8.self).split(separator: "\n").map(String.init)
        for answer in out.takeWithdrawals() where open.contains(where: { $0.id == answer.id }) {
            // The pushes with odd numbers count as taken by a transport, so they are not withdrawn.
            guard answer.id.push % 2 == 0 else { continue }
            open.removeAll { $0.id == answer.id }
            var rest = Outbox()
            commit()
            clock.receive(answer, into: &rest)
            collect(&rest)
            commit()
        }
        out.discard()
    }

    /// The push, device and registration of each event of a type.
    func retirements(_ type: String) throws -> [String] {
        try lines.filter { try member("type", of: $0) == type }.map { line in
            try ["push", "device", "registered"].map { try member($0, of: line) ?? "" }.joined(separator: " ")
        }
    }

    private static func event(_ draw: inout Seeded, _ time: Instant) -> String {
        let user = draw.one(of: ["_alice", "_bob"])
        let device = draw.one(of: ["mac", "phone", "pad"])
        switch draw.below(9) {
        case 0: return unregister(device, of: user)
        case 8:
            return redrive(
                push(to: user, collapseID: draw.one(of: [nil, "c", "d"])), of: UInt64(1 + draw.below(50)), to: device,
                of: user)
        case 1, 2:
            return register(
                device, of: user, token: "t\(draw.below(7))", topic: draw.one(of: ["com.a", "com.b"]))
        default:
            let seconds = Int(time.microseconds / 1_000_000)
            return push(
                to: user, collapseID: draw.one(of: [nil, "c", "d"]),
                expiration: draw.one(of: [nil, nil, 0, seconds + 3, seconds + 300, seconds - 1]))
        }
    }

    /// Draws an answer. With a probability of 2/3, it is the current answer for the topic: accepted, deferred, stopped
    /// or unknown address. The current answer changes now and then. With a probability of 1/3, it is any answer.
    private static func answer(
        _ delivery: Delivery, _ now: Instant, _ draw: inout Seeded, _ answerModes: inout [String: Int]
    ) -> TransportAnswer {
        let topic = delivery.app?.topic ?? ""
        if draw.isOneIn(12) { answerModes[topic] = draw.below(4) }
        let (mode, attempts) = (answerModes[topic] ?? 0, draw.below(3))
        let repeats = draw.isOneIn(4)
        switch draw.isOneIn(3) ? draw.below(6) : mode {
        case 1:
            let until = draw.one(of: [nil, now.advanced(by: .milliseconds(draw.below(400_000))), .epoch])
            return TransportAnswer(
                delivery.id, .deferred, status: 503, reason: "Shutdown", attempts: attempts, until: until,
                mayRepeat: repeats)
        case 2: return TransportAnswer(delivery.id, .stopped, status: 403, reason: "InvalidProviderToken")
        case 3: return TransportAnswer(delivery.id, .unknownAddress, status: 400, reason: "BadDeviceToken")
        case 4:
            let since = draw.one(of: [nil, now, Instant(microseconds: now.microseconds - 100_000_000)])
            return TransportAnswer(
                delivery.id, .unregistered, status: 410, reason: "Unregistered", since: since, receipt: "r")
        case 5: return TransportAnswer(delivery.id, .failed, status: 413, mayRepeat: repeats)
        default: return TransportAnswer(delivery.id, .accepted, status: 200, attempts: attempts, mayRepeat: repeats)
        }
    }

    // MARK: - Replay

    /// The lines that a replay of the batches and of the recorded answers writes.
    ///
    /// - Parameter restartsAfterEachBatch: Whether a new stage takes over the state after each batch.
    func replayed(restartsAfterEachBatch: Bool) throws -> [String] {
        var clock = StageClock(try DeliverHarness(settings: settings).stage)
        var (replayedLines, fed, first): ([String], Int, Int) = ([], 0, 0)
        for batch in batches {
            var out = Outbox()
            for event in events[fed..<batch.cursor] {
                fed += 1
                try InputEvent.read(event.line, sequence: UInt64(fed)) { clock.receive($0, at: event.time, into: &out) }
            }
            clock.advance(to: batch.now, into: &out)
            for (index, line) in lines[first..<batch.lines].enumerated() {
                try InputEvent.read(line, sequence: UInt64(first + index + 1)) {
                    if let answer = DeliverStage.answer(recordedIn: $0) { clock.receive(answer, into: &out) }
                }
            }
            replayedLines += String(decoding: out.lines, as: UTF8.self).split(separator: "\n").map(String.init)
            first = batch.lines
            if restartsAfterEachBatch { clock = try restarted(clock) }
        }
        return replayedLines
    }

    private func restarted(_ clock: StageClock<DeliverStage>) throws -> StageClock<DeliverStage> {
        var writer = SnapshotWriter()
        clock.stage.snapshot(into: &writer)
        var stage = try DeliverHarness(settings: settings).stage
        var reader = SnapshotReader(writer.bytes)
        try stage.restore(from: &reader)
        var again = SnapshotWriter()
        stage.snapshot(into: &again)
        #expect(Array(again.buffer.bytes) == Array(writer.buffer.bytes))
        #expect(handedOut(stage, clock.now) == handedOut(clock.stage, clock.now))
        return StageClock(stage, now: clock.now)
    }

    private func handedOut(_ stage: DeliverStage, _ now: Instant) -> [Delivery] {
        var out = Outbox()
        stage.handOutAgain(at: now, into: &out)
        return out.takeDeliveries()
    }
}
