import PipelineKit
import TestSupport
import Testing
import Time

@testable import Match

struct MatchSnapshotTests {
    private typealias Run = StageRun<MatchStage>

    private static func fresh() throws -> MatchStage {
        let context = StageContext(
            log: LogIdentity(seed: "match tests", name: "matches"), upstream: Feed.upstream, upstreamName: "changes")
        return try MatchStage(MatchSettings(), context: context)
    }

    private static func run(_ lines: [String]) throws -> Run {
        var run = Run(try fresh())
        for line in lines { _ = try run.receive(.init(line)) }
        return run
    }

    /// Random saves and deletes of subscriptions, and changes. No subscription watches the changes of `_nobody`, so the
    /// stage also writes `not_matched` events.
    private static func history(_ draw: inout Seeded) throws -> [Run.Arrival] {
        var time: Int64 = 0
        return try (0..<1500).map { _ in
            time += Int64(draw.below(300)) * 1000
            switch draw.below(10) {
            case 0..<3: return try .init(DrawnSubscription(.wide, &draw).line, at: time)
            case 3: return .init(try DrawnSubscription(.wide, &draw).deleteLine, at: time)
            case 4..<7: return .init(Line.change(owner: "_nobody"), at: time)
            default: return .init(DrawnChange(.wide, &draw).line, at: time)
            }
        }
    }

    @Test(arguments: Seeded.seeds)
    func `a restored stage continues like the original one`(seed: UInt64) throws {
        var draw = Seeded(seed)
        let history = try Self.history(&draw)
        for _ in 0..<4 {
            let cut = draw.below(history.count - 100)
            let (uninterrupted, restored) = try Run.split(history, at: cut, fresh: Self.fresh)
            #expect(uninterrupted.difference(from: restored) == nil, "seed \(seed), cut \(cut)")
            #expect(uninterrupted.outputs.contains { $0.count > 2 }, "seed \(seed)")
            #expect(uninterrupted.outputs.contains { $0.contains { $0.contains("not_matched") } }, "seed \(seed)")
        }
    }

    @Test(arguments: Seeded.seeds)
    func `a snapshot does not depend on subscriptions that were replaced`(seed: UInt64) throws {
        var draw = Seeded(seed)
        let lines = try (0..<300).map { _ in try DrawnSubscription(.wide, &draw).line }
        let whole = try Self.run(lines)
        let kept = Set(whole.state.map { $0.split(separator: #""savedAt":"#)[1].prefix { $0 != "," } })
        // This line changes nothing. It replaces each line that is left out, so the other lines keep their sequences.
        let filler = Line.remove(id: "never")
        let few = try Self.run(lines.enumerated().map { kept.contains("\($0 + 1)") ? $1 : filler })
        #expect(kept.count < 250 && kept.count > 100, "seed \(seed)")
        #expect(whole.snapshot == few.snapshot, "seed \(seed)")
    }

    @Test func `a damaged snapshot is rejected, or the restored stage works`() throws {
        let predicate = #""filterBy":[{"comparator":"EQUALS","fieldName":"n","fieldValue":{"value":1}}]"#
        let lines = [
            Line.save(Line.query(predicate, more: #","notificationInfo":{"desiredKeys":["n"]}"#)),
            Line.save(#""subscriptionType":"database""#, id: "d"), Line.change(zone: "Y"), Line.change(type: "Task"),
        ]
        let then = (lines + [Line.remove()]).map { Run.Arrival($0) }
        let report = try Self.run(lines).damageReport(fresh: Self.fresh, then: then)
        #expect(report.prefixesAccepted == 0)
        #expect(report.changedBytesRefused > 0)
    }

    @Test func `the state has one line per subscription, as it was saved`() throws {
        let query = Line.query(#""predicate":"n = \"1\"""#, more: #","notificationInfo":{"alertBody":"Hi"}"#)
        let lines = [
            Line.save(query, id: "gone"), Line.save(query, id: "q"),
            Line.save(#""subscriptionType": "zone", "zoneID":{"zoneName":"Y"}"#, id: "z", database: "shared"),
            Line.remove(id: "gone"),
        ]
        #expect(
            try Self.run(lines).state == [
                #"{\#(Line.place),"database":"private","user":"_a","subscriptionID":"q","subscriptionType":"query","#
                    + #""recordType":"Note","savedAt":2,"subscription":{"subscriptionID":"q",\#(query)}}"#,
                #"{\#(Line.place),"database":"shared","user":"_a","subscriptionID":"z","subscriptionType":"zone","#
                    + #""savedAt":3,"subscription":{"subscriptionID":"z","#
                    + #""subscriptionType": "zone", "zoneID":{"zoneName":"Y"}}}"#,
            ])
    }
}
