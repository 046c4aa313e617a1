import PipelineKit
import TestSupport
import Testing

@testable import Coalesce

struct CoalesceSnapshotTests {
    private typealias Run = StageRun<CoalesceStage>

    private static func fresh(_ policy: String = "debounce", pendingPerUser: Int = 100) throws -> CoalesceStage {
        try CoalesceStage(
            CoalesceSettings(
                policy: PluginChoice(policy), window: .milliseconds(100), maximumDelay: .milliseconds(250),
                pendingPerUser: pendingPerUser),
            context: context)
    }

    private static func run(_ history: [Run.Arrival], policy: String = "debounce") throws -> Run {
        var run = Run(try fresh(policy))
        for arrival in history { _ = try run.receive(arrival) }
        return run
    }

    private static func history(_ draw: inout Seeded, count: Int = 400) -> [Run.Arrival] {
        var time: Int64 = 0
        return (1...count).map { number in
            time += Int64(draw.below(30)) * 1000
            var match = SampleMatch(change: draw.isOneIn(4) ? max(number - 1, 1) : number, user: "_\(draw.below(3))")
            match.subscription = draw.one(of: ["feed", "ü \\\"1"])
            match.info = draw.one(of: [nil, #"{"alertBody":"Hi"}"#, #"{"title":"T","collapseIDKey":"c"}"#])
            match.device = draw.one(of: ["mac", "mac", "mac", "phone", nil])
            return Run.Arrival(match.line, at: time)
        }
    }

    @Test(arguments: Seeded.seeds)
    func `a restored stage continues like the original one`(seed: UInt64) throws {
        var draw = Seeded(seed)
        let history = Self.history(&draw)
        for policy in ["latest", "debounce"] {
            for limit in [1, 100] {
                // The cut is in the first half, so that the events after it contain replacements and reach the limit.
                let cut = draw.below(200)
                let (uninterrupted, restored) = try Run.split(history, at: cut) {
                    try Self.fresh(policy, pendingPerUser: limit)
                }
                let place = "seed \(seed), \(policy), \(limit) pending, cut \(cut)"
                #expect(uninterrupted.difference(from: restored) == nil, "\(place)")
                #expect(uninterrupted.outputs.contains { $0.contains { $0.contains("coalesced") } }, "\(place)")
                let reachesLimit = uninterrupted.outputs.contains { $0.contains { $0.contains("atLimit") } }
                #expect(limit == 100 || reachesLimit, "\(place)")
            }
        }
    }

    @Test(arguments: ["latest", "debounce", "none"])
    func `a stage restored after any event continues like one that was never stopped`(policy: String) throws {
        var draw = Seeded(11)
        let history = Self.history(&draw, count: 60)
        for cut in 0...history.count {
            let (uninterrupted, restored) = try Run.split(history, at: cut) {
                try Self.fresh(policy, pendingPerUser: 2)
            }
            #expect(uninterrupted.difference(from: restored) == nil, "\(policy), cut \(cut)")
        }
    }

    @Test func `a held notification keeps its deadline under another policy, which applies to newer ones`() throws {
        let history = [Run.Arrival(SampleMatch.collapsing("c").line, at: 0)]
        let debounced = try Self.run(history)
        for policy in ["latest", "none"] {
            var other = try debounced.resumed(with: Self.fresh(policy), from: debounced.snapshot)
            #expect(other.clock.stage.deadline?.microseconds == 100_000)
            #expect(other.finish() == [SampleMatch.collapsing("c").notification(causes: [1])])
        }
        let newer = SampleMatch.collapsing("c", change: 2)
        var none = try debounced.resumed(with: Self.fresh("none"), from: debounced.snapshot)
        #expect(try none.receive(.init(newer.line, at: 10_000)).count == 1)
        #expect(none.finish() == [newer.notification(causes: [1, 2])])
        #expect(none.clock.now.microseconds == 10_000)
    }

    @Test(arguments: Seeded.seeds)
    func `a snapshot does not depend on notifications that left long ago`(seed: UInt64) throws {
        var draw = Seeded(seed)
        let history = Self.history(&draw, count: 120)
        let gap = history[119].microseconds + 1_000_000
        let later = Self.history(&draw, count: 30).map { Run.Arrival($0.line, at: gap + $0.microseconds / 10) }
        let nothing = history.map { Run.Arrival(#"{"type":"not_matched"}"#, at: $0.microseconds) }
        for policy in ["latest", "debounce"] {
            let one = try Self.run(history + later, policy: policy)
            let other = try Self.run(nothing + later, policy: policy)
            #expect(one.snapshot == other.snapshot, "seed \(seed), \(policy)")
            #expect(!one.state.isEmpty, "seed \(seed), \(policy)")
        }
    }

    @Test(arguments: ["latest", "debounce"])
    func `a damaged snapshot is rejected, or the restored stage works`(policy: String) throws {
        var silent = SampleMatch(change: 3)
        silent.device = nil
        let history = [
            Run.Arrival(SampleMatch.collapsing("c").line, at: 1000), .init(silent.line, at: 1000),
            .init(SampleMatch.collapsing("c", change: 4).line, at: 2000),
        ]
        let run = try Self.run(history, policy: policy)
        let report = try run.damageReport(fresh: { try Self.fresh(policy, pendingPerUser: 1) }, then: history)
        #expect(report.prefixesAccepted == 0)
        #expect(report.changedBytesRefused > 0)
    }

    @Test func `the state has one line per notification, in the order in which they leave`() throws {
        let day: Int64 = 86_400_000_000
        let collapsing = [1, 3].map { SampleMatch.collapsing("c \\\"1", change: $0).line }
        let run = try Self.run([
            .init(collapsing[0], at: day), .init(SampleMatch(change: 2).line, at: day + 10_000),
            .init(collapsing[1], at: day + 20_000),
        ])
        let place = #"{"container":"iCloud.com.example.Notes","environment":"development","database":"private","#
        #expect(
            run.state == [
                place + #""user":"_alice","subscriptionID":"feed","causes":[{"log":"changes","sequence":2}],"#
                    + #""due":"1970-01-02T00:00:00.110Z","limit":"1970-01-02T00:00:00.260Z"}"#,
                place + #""user":"_alice","subscriptionID":"feed","collapseID":"c \"1","#
                    + #""causes":[{"log":"changes","sequence":1},{"log":"changes","sequence":3}],"#
                    + #""due":"1970-01-02T00:00:00.120Z","limit":"1970-01-02T00:00:00.250Z"}"#,
            ])
    }
}
