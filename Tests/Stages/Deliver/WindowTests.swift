import EventLog
import JSON
import PipelineKit
import TestSupport
import Testing

@testable import Deliver

/// Hosts hand out the pushes of many events before the first answer; a replay answers each at once.
struct WindowTests {
    @Test(arguments: Seeded.seeds)
    func `a replay that answers at once says what was said, however windows were cut`(seed: UInt64) throws {
        var draw = Seeded(seed)
        for _ in 0..<8 {
            let history = try LiveHistory(&draw)
            let replay = try history.replayed(restartingEvery: nil)
            #expect(replay == history.lines, "seed \(seed)")
        }
    }

    @Test(arguments: Seeded.seeds)
    func `a restart after any event changes nothing`(seed: UInt64) throws {
        var draw = Seeded(seed)
        let history = try LiveHistory(&draw)
        #expect(try history.replayed(restartingEvery: 1) == history.lines, "seed \(seed)")
    }

    @Test(arguments: Seeded.seeds)
    func `every push ends in one outcome at each device`(seed: UInt64) throws {
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

/// What a host does with transports that defer, refuse and stop, and what it has on record afterwards.
private struct LiveHistory {
    private struct Batch {
        var cursor: UInt64
        var now: Instant
    }

    private var events: [(line: String, time: Instant)] = []
    private var batches: [Batch] = []
    private(set) var lines: [String] = []
    private(set) var pendingAtEnd = 0
    /// Retired devices of which the backend is still to hear.
    private(set) var noticesAtEnd = 0
    private let settings: String

    init(_ draw: inout Seeded) throws {
        settings =
            "transports: {apns: {use: file}, hook: {use: webhook}}"
            + draw.one(of: ["", "\nretryFor: 5m\npendingMax: 3"])
            + draw.one(of: ["", "\nretryTo: first", "\nretryTo: latest"])
            + draw.one(of: ["", "\nretired: {url: x}"])
        var clock = StageClock(try Bench(transports: settings).stage)
        var window: [Delivery] = []
        var (time, fed) = (Instant(microseconds: 1_700_000_000_000_000), UInt64(0))
        var moods: [String: Int] = [:]
        for _ in 0..<300 {
            if !draw.isOneIn(3) {
                time = time.advanced(by: .microseconds(draw.one(of: [1, 50_000, 2_000_000, 90_000_000])))
            }
            let line = Self.event(&draw, time)
            while let deadline = clock.stage.deadline, deadline <= max(time, clock.now) {
                try settle(&window, &clock, fed, &draw, &moods)
                var out = Outbox()
                clock.serveNext(into: &out)
                collect(&out, &window)
                try settle(&window, &clock, fed, &draw, &moods)
            }
            fed += 1
            events.append((line, time))
            var out = Outbox()
            try Self.read(line, fed) { clock.receive($0, at: time, into: &out) }
            collect(&out, &window)
            if draw.isOneIn(6) { try settle(&window, &clock, fed, &draw, &moods) }
        }
        try settle(&window, &clock, fed, &draw, &moods)
        pendingAtEnd = clock.stage.pending.inOrder.count { !$0.isNotice }
        noticesAtEnd =
            settings.contains("retired:")
            ? clock.stage.pending.count - pendingAtEnd : try retirements("device.retired").count
    }

    /// Push, device and registration of each event of a type.
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

    private mutating func collect(_ out: inout Outbox, _ window: inout [Delivery]) {
        window += out.takeDeliveries()
        lines += String(decoding: out.lines, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    private mutating func settle(
        _ window: inout [Delivery], _ clock: inout StageClock<DeliverStage>, _ fed: UInt64, _ draw: inout Seeded,
        _ moods: inout [String: Int]
    ) throws {
        for delivery in window.shuffled(using: &draw) {
            var out = Outbox()
            clock.receive(Self.answer(delivery, clock.now, &draw, &moods), into: &out)
            var none: [Delivery] = []
            collect(&out, &none)
            #expect(none.isEmpty)
        }
        window = []
        if draw.isOneIn(2) { clock.drift(to: clock.now.advanced(by: .milliseconds(draw.below(5_000)))) }
        batches.append(Batch(cursor: fed, now: clock.now))
    }

    /// An app has its moods: for a while it accepts, or defers, or is stopped.
    private static func answer(
        _ delivery: Delivery, _ now: Instant, _ draw: inout Seeded, _ moods: inout [String: Int]
    ) -> TransportAnswer {
        let topic = delivery.app?.topic ?? ""
        if draw.isOneIn(12) { moods[topic] = draw.below(4) }
        let (mood, attempts) = (moods[topic] ?? 0, draw.below(3))
        let repeats = draw.isOneIn(4)
        switch draw.isOneIn(3) ? draw.below(6) : mood {
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

    // MARK: - Again

    /// - Parameter restartingEvery: After how many events the stage's state moves to a fresh one.
    func replayed(restartingEvery: UInt64?) throws -> [String] {
        var clock = StageClock(try Bench(transports: settings).stage)
        var (said, answers): ([String], [TransportAnswer]) = ([], [])
        for (index, line) in lines.enumerated() {
            try Self.read(line, UInt64(index + 1)) {
                if let answer = DeliverStage.answer(recordedIn: $0) { answers.append(answer) }
            }
        }
        var next = 0
        func settle(_ out: inout Outbox) {
            for delivery in out.takeDeliveries() {
                guard next < answers.count, answers[next].id == delivery.id else {
                    said.append("no answer to \(delivery.id)")
                    continue
                }
                clock.receive(answers[next], into: &out)
                next += 1
            }
            said += String(decoding: out.lines, as: UTF8.self).split(separator: "\n").map(String.init)
            out.discard()
        }
        func serve(through time: Instant) {
            while let deadline = clock.stage.deadline, deadline <= max(time, clock.now) {
                var out = Outbox()
                clock.serveNext(into: &out)
                settle(&out)
            }
        }
        func serve(before sequence: UInt64, _ batches: inout ArraySlice<Batch>) {
            while let batch = batches.first, batch.cursor < sequence {
                serve(through: batch.now)
                var out = Outbox()
                clock.advance(to: batch.now, into: &out)
                batches.removeFirst()
            }
        }
        var rest = batches[...]
        for (index, event) in events.enumerated() {
            let sequence = UInt64(index + 1)
            serve(before: sequence, &rest)
            serve(through: event.time)
            var out = Outbox()
            try Self.read(event.line, sequence) { clock.receive($0, at: event.time, into: &out) }
            settle(&out)
            if let restartingEvery, sequence % restartingEvery == 0 { clock = try restarted(clock) }
        }
        serve(before: .max, &rest)
        return said
    }

    private func restarted(_ clock: StageClock<DeliverStage>) throws -> StageClock<DeliverStage> {
        var writer = SnapshotWriter()
        clock.stage.snapshot(into: &writer)
        var stage = try Bench(transports: settings).stage
        let bytes = Array(writer.bytes)
        try bytes.withUnsafeBytes {
            var reader = SnapshotReader($0)
            try stage.restore(from: &reader)
        }
        var again = SnapshotWriter()
        stage.snapshot(into: &again)
        #expect(Array(again.bytes) == bytes)
        return StageClock(stage, now: clock.now)
    }

    private static func read(_ line: String, _ sequence: UInt64, _ body: (borrowing InputEvent) -> Void) throws {
        var parser = JSONParser()
        try Array(line.utf8).withUnsafeBytes { bytes in
            body(InputEvent(sequence: sequence, json: try parser.parse(bytes), line: bytes))
        }
    }
}
