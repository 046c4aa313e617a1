import PipelineKit
import TestSupport
import Testing

@testable import Payload

struct PayloadSnapshotTests {
    private typealias Run = StageRun<PayloadStage>

    private static func fresh() throws -> PayloadStage { try PayloadStage(PayloadSettings(), context: context) }

    private static func notification(
        _ user: String, in container: String = "iCloud.a", _ environment: String = "development"
    ) -> Run.Arrival {
        let info = #"{"alertBody":"Hi","shouldBadge":true}"#
        let sample = SampleNotification(container: container, environment: environment, user: user, info: info)
        return Run.Arrival(sample.line)
    }

    private static func setting(_ badge: Int, topic: String?, _ user: String, _ container: String) -> Run.Arrival {
        let topic = topic.map { #","topic":"\#($0)""# } ?? ""
        return Run.Arrival(
            #"{"type":"badge.set","container":"\#(container)","environment":"development","user":"\#(user)"\#(topic),"badge":\#(badge)}"#
        )
    }

    private static func drawn(_ draw: inout Seeded) -> Run.Arrival {
        let user = draw.one(of: ["_a", "_b", "_bb", "_ä"])
        let container = draw.one(of: ["iCloud.a", "iCloud.ab", "i"])
        guard draw.below(8) > 0 else {
            return setting(draw.below(3), topic: draw.one(of: [nil, "t", "u", "ü"]), user, container)
        }
        return notification(user, in: container, draw.one(of: ["development", "production"]))
    }

    @Test func `a topic's badge is restored even if it and the common badge have both reached the maximum`() throws {
        var run = Run(try Self.fresh())
        let most = 2_147_483_647
        for arrival in [
            Self.setting(most - 1, topic: nil, "_a", "iCloud.a"), Self.setting(most, topic: "t", "_a", "iCloud.a"),
            Self.notification("_a"),
        ] { _ = try run.receive(arrival) }
        #expect(try run.resumed(with: Self.fresh(), from: run.snapshot).state == run.state)
    }

    private static func run(_ history: [Run.Arrival]) throws -> Run {
        var run = Run(try fresh())
        for arrival in history { _ = try run.receive(arrival) }
        return run
    }

    @Test(arguments: Seeded.seeds)
    func `a restored stage continues like the original one`(seed: UInt64) throws {
        var draw = Seeded(seed)
        let history = (0..<150).map { _ in Self.drawn(&draw) }
        let (uninterrupted, restored) = try Run.split(history, at: draw.below(100), fresh: Self.fresh)
        #expect(uninterrupted.difference(from: restored) == nil, "seed \(seed)")
        #expect(uninterrupted.outputs.contains { $0.contains { $0.contains(#""badge":3"#) } }, "seed \(seed)")
    }

    @Test(arguments: Seeded.seeds)
    func `a snapshot does not depend on the order of the notifications`(seed: UInt64) throws {
        var draw = Seeded(seed)
        let history = (0..<60).map { _ in Self.notification(draw.one(of: ["_a", "_b", "_bb", "_ä"])) }
        let (one, other) = (try Self.run(history), try Self.run(history.shuffled(using: &draw)))
        #expect(one.snapshot == other.snapshot, "seed \(seed)")
        #expect(one.state == other.state, "seed \(seed)")
    }

    @Test func `a damaged snapshot is rejected, or the restored stage works`() throws {
        let history = [
            Self.notification("_a"), Self.notification("_b"), Self.setting(5, topic: "t", "_a", "iCloud.a"),
            Self.notification("_a"),
        ]
        let report = try Self.run(history).damageReport(fresh: Self.fresh, then: history)
        #expect(report.prefixesAccepted == 0)
        #expect(report.changedBytesRefused > 0)
    }

    @Test func `a snapshot with a badge out of range is rejected`() throws {
        let run = try Self.run([Self.notification("_a")])
        let snapshot = Array(run.snapshot.dropLast(2)) + [254, 255, 255, 255, 255, 255, 255, 255, 255, 1, 0]
        #expect(throws: SnapshotError.self) { try run.resumed(with: Self.fresh(), from: snapshot) }
    }

    @Test func `the state has one line per badge`() throws {
        let run = try Self.run([
            Self.notification("_b"), Self.notification("_b"), Self.notification("_\"a"),
            Self.notification("_b", in: "i", "production"), Self.setting(4, topic: "t", "_b", "iCloud.a"),
            Self.setting(0, topic: #"com.\"t"#, #"_\"a"#, "iCloud.a"), Self.setting(3, topic: "t", "_c", "i"),
        ])
        #expect(
            run.state == [
                #"{"container":"i","environment":"production","user":"_b","badge":1}"#,
                #"{"container":"i","environment":"development","user":"_c","topic":"t","badge":3}"#,
                #"{"container":"iCloud.a","environment":"development","user":"_\"a","badge":1}"#,
                #"{"container":"iCloud.a","environment":"development","user":"_\"a","topic":"com.\"t","badge":0}"#,
                #"{"container":"iCloud.a","environment":"development","user":"_b","badge":2}"#,
                #"{"container":"iCloud.a","environment":"development","user":"_b","topic":"t","badge":4}"#,
            ])
    }
}
