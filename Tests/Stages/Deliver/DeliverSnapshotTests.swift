import JSON
import PipelineKit
import TestSupport
import Testing

@testable import Deliver

struct DeliverSnapshotTests {
    private typealias Run = StageRun<DeliverStage>

    private static func fresh() throws -> DeliverStage { try DeliverHarness().stage }

    private static func run(_ lines: [String]) throws -> Run {
        var run = Run(try fresh())
        for line in lines { _ = try run.receive(.init(line)) }
        return run
    }

    /// A random event. There are few tokens, so that tokens move between devices.
    private static func event(_ draw: inout Seeded) -> String {
        let (user, device) = (
            draw.one(of: ["_alice", "_bob", "_carol"]), draw.one(of: ["mac", "phone", "Ünï", "pad"])
        )
        switch draw.below(5) {
        case 0, 1:
            return register(
                device, of: user, transport: draw.one(of: ["apns", "apns", "hook", "pigeon"]),
                token: "token-\(draw.below(9))", topic: draw.one(of: [nil, "com.example.Notes", "other"]))
        case 2: return unregister(device, of: user)
        default:
            return push(to: user, origin: draw.isOneIn(3) ? #"{"user":"\#(user)","device":"\#(device)"}"# : nil)
        }
    }

    private static func answer(_ delivery: Delivery) -> TransportAnswer {
        guard delivery.id.push % 3 == 0 else { return TransportAnswer(delivery.id, .accepted) }
        return TransportAnswer(delivery.id, .failed, status: 410, reason: "Gone \"for good\"", attempts: 2)
    }

    @Test(arguments: Seeded.seeds)
    func `a restored stage continues like the original one`(seed: UInt64) throws {
        var draw = Seeded(seed)
        let history = (0..<400).map { _ in Run.Arrival(Self.event(&draw)) }
        let (uninterrupted, restored) = try Run.split(
            history, at: draw.below(300), answer: Self.answer, fresh: Self.fresh)
        #expect(uninterrupted.difference(from: restored) == nil, "seed \(seed)")
        #expect(uninterrupted.outputs.contains { $0.count > 3 }, "seed \(seed)")
    }

    @Test(arguments: Seeded.seeds)
    func `a snapshot does not depend on the order of registrations`(seed: UInt64) throws {
        var draw = Seeded(seed)
        let events = (0..<100).map { register("d\($0 % 20)", of: "_u\($0 / 20)", topic: draw.one(of: [nil, "t"])) }
        let (one, other) = (try Self.run(events), try Self.run(events.shuffled(using: &draw)))
        #expect(one.snapshot == other.snapshot, "seed \(seed)")
        #expect(one.state == other.state, "seed \(seed)")
    }

    @Test func `a damaged snapshot is rejected, or the restored stage works`() throws {
        let events = [register("mac"), register("phone", topic: nil), register("mac", of: "_bob")]
        let then = (events + [push(), unregister("mac"), push(to: "_bob")]).map { Run.Arrival($0) }
        let report = try Self.run(events).damageReport(fresh: Self.fresh, then: then)
        #expect(report.prefixesAccepted == 0)
        #expect(report.changedBytesRefused > 0)
    }

    /// The number of the push selects the answer: deferred, app stopped, unknown address or accepted.
    private static func answerByPushNumber(_ delivery: Delivery) -> TransportAnswer {
        switch delivery.id.push % 4 {
        case 0: TransportAnswer(delivery.id, .deferred, reason: "later", until: .distantFuture)
        case 1: TransportAnswer(delivery.id, .stopped, status: 403)
        case 2: TransportAnswer(delivery.id, .unknownAddress, status: 400)
        default: TransportAnswer(delivery.id, .accepted)
        }
    }

    @Test(arguments: Seeded.seeds)
    func `a damaged snapshot with waiting pushes is rejected, or the restored stage works`(seed: UInt64) throws {
        var draw = Seeded(seed)
        var run = Run(try Self.fresh(), answer: Self.answerByPushNumber)
        for _ in 0..<60 { _ = try run.receive(.init(Self.event(&draw), at: Int64(draw.below(9)) * 1_000_000)) }
        let whole = run.snapshot
        var restoredCount = 0
        for _ in 0..<300 {
            var bytes = whole
            bytes[draw.below(bytes.count)] ^= 1 << UInt8(draw.below(8))
            do {
                var other = try run.resumed(with: Self.fresh(), from: bytes)
                _ = (try other.receive(.init(push())), other.state, other.snapshot, other.finish(wakesMax: 40))
                restoredCount += 1
            } catch is SnapshotError {}
        }
        #expect(0 < restoredCount && restoredCount < 300, "seed \(seed)")
    }

    @Test func `the state has one line per device, with only the beginning of its token`() throws {
        let run = try Self.run([
            register("phone", token: "0123456789abcdef0123"),
            register("mac", transport: "hook", token: "short", topic: nil),
            register("mac", of: #"_\"bob"#),
        ])
        let place = #"{"container":"iCloud.Notes","environment":"development","user":"#
        #expect(
            run.state == [
                place + #""_\"bob","device":"mac","transport":"apns","token":"t-_\"b…","topic":"com.example.Notes"}"#,
                place + #""_alice","device":"mac","transport":"hook","token":"sh…"}"#,
                place
                    + #""_alice","device":"phone","transport":"apns","token":"01234567…","topic":"com.example.Notes"}"#,
            ])
    }

    // MARK: - Answers

    @Test(arguments: Seeded.seeds)
    func `an answer 'accepted' or 'failed' can be read from the outcome that records it`(seed: UInt64) throws {
        var draw = Seeded(seed)
        for _ in 0..<50 {
            let device = draw.one(of: ["mac", "Ünï \\\"1", "e\u{301}"])
            var harness = try DeliverHarness()
            try harness.feed(register(escapedForJSON(device)), push())
            let given = TransportAnswer(
                try #require(harness.deliveries.first).id, draw.one(of: [.accepted, .failed]),
                status: draw.one(of: [nil, 200, 410]), reason: draw.one(of: [nil, "", "Gone \"for\u{7} good\""]),
                attempts: 1 + draw.below(5))
            harness.answer(given)
            #expect(try harness.outcomes.map(Self.recorded) == [given], "seed \(seed)")
        }
    }

    private func escapedForJSON(_ text: String) -> String {
        var buffer = ByteBuffer()
        buffer.appendJSON(text)
        return String(buffer.text.dropFirst().dropLast())
    }

    @Test func `outcomes of pushes that no transport got, and other events, record no answer`() throws {
        var harness = try DeliverHarness()
        try harness.feed(push(), register("mac"), register("old", transport: "pigeon"))
        try harness.feed(push(origin: #"{"user":"_alice","device":"mac"}"#))
        #expect(harness.outcomes.count == 3)
        for line in harness.outcomes + [push(), "{}", #"{"type":"outcome","outcome":"accepted"}"#] {
            #expect(try Self.recorded(line) == nil, "\(line)")
        }
    }

    private static func recorded(_ line: String) throws -> TransportAnswer? {
        try InputEvent.read(line, sequence: 1) { DeliverStage.answer(recordedIn: $0) }
    }
}
