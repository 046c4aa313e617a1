import PipelineKit
import TestSupport
import Testing
import Time

@testable import Match

/// The stage finds the same matches as ``PlainEvaluator``, which has no index.
struct PlainEvaluatorTests {
    @Test(arguments: Seeded.seeds)
    func `every change finds the same subscriptions as without an index, in every scope`(seed: UInt64) throws {
        var pair = try StageAndEvaluator(.wide, seed: seed)
        for _ in 0..<3000 { try pair.step(saves: 25, deletes: 5) }
        try pair.check(changesMin: 1500, watchedShareMin: 0.6)
    }

    @Test(arguments: Seeded.seeds)
    func `every change finds the same subscriptions as without an index, if all watch one type`(seed: UInt64) throws {
        var pair = try StageAndEvaluator(.crowded, seed: seed)
        for _ in 0..<700 { try pair.step(saves: 100, deletes: 0) }
        for _ in 0..<400 { try pair.step(saves: 30, deletes: 20) }
        try pair.check(changesMin: 150, watchedShareMin: 0.8)
    }

    /// The restored stage builds its index at once from the subscriptions in the snapshot. The original stage has built
    /// its index step by step.
    @Test(arguments: Seeded.seeds)
    func `a restored stage writes the same matches as the original one`(seed: UInt64) throws {
        var pair = try StageAndEvaluator(.wide, seed: seed)
        let cut = pair.random.below(800)
        for step in 0..<1200 {
            if step == cut || step == 1000 { try pair.restore() }
            try pair.step(saves: 30, deletes: 10)
        }
        try pair.check(changesMin: 500, watchedShareMin: 0.4)
    }

    @Test func `every expected part of predicates takes part in a match`() throws {
        var coverage = Coverage()
        for pools in [CommandPools.wide, .crowded] {
            var pair = try StageAndEvaluator(pools, seed: 11)
            for _ in 0..<24 where !coverage.missing.isEmpty {
                for _ in 0..<100 { try pair.step(saves: 40, deletes: 5) }
                coverage.merge(pair.coverage)
            }
        }
        #expect(coverage.missing == [])
    }
}

/// A stage and the plain evaluator, which get the same lines.
private struct StageAndEvaluator {
    var random: Seeded
    private let seed: UInt64
    private let pools: CommandPools
    private var run: StageRun<MatchStage>
    /// A stage that was restored from a snapshot of the stage in `run`.
    private var restored: StageRun<MatchStage>?
    private var plain = PlainEvaluator()
    private(set) var coverage = Coverage()
    private var changes = 0
    private var watched = 0

    init(_ pools: CommandPools, seed: UInt64) throws {
        (self.pools, self.seed, random) = (pools, seed, Seeded(seed))
        run = StageRun(try Self.fresh())
    }

    private static func fresh() throws -> MatchStage {
        let context = StageContext(
            log: LogIdentity(seed: "match tests", name: "matches"), upstream: Feed.upstream, upstreamName: "changes")
        return try MatchStage(MatchSettings(), context: context)
    }

    /// Feeds a save with the probability `saves`, a delete with the probability `deletes` (both in percent), and
    /// otherwise a change.
    mutating func step(saves: Int, deletes: Int) throws {
        switch random.below(100) {
        case ..<saves: try save()
        case ..<(saves + deletes): try delete()
        default: try change()
        }
    }

    private mutating func save() throws {
        let subscription = try DrawnSubscription(pools, &random)
        plain.save(subscription)
        try expect([], of: subscription.line)
    }

    /// Usually deletes a saved subscription.
    private mutating func delete() throws {
        let drawn = try DrawnSubscription(pools, &random)
        let gone = random.isOneIn(4) ? drawn : plain.saved.randomElement(using: &random) ?? drawn
        plain.delete(gone.identity)
        try expect([], of: gone.deleteLine)
    }

    private mutating func change() throws {
        let change = DrawnChange(pools, &random)
        let expected = try plain.watchers(of: change)
        try expect(expected.map(\.identity), of: change.line)
        for subscription in expected { try coverage.add(subscription, change) }
        changes += 1
        watched += expected.isEmpty ? 0 : 1
    }

    private mutating func expect(_ expected: [String], of line: String) throws {
        let written = try run.receive(.init(line))
        if let again = try restored?.receive(.init(line)) {
            try #require(again == written, "seed \(seed), line \(run.sequence): \(line)")
        }
        let found = written.filter { !$0.hasPrefix(#"{"type":"not_matched""#) }.map { identity(of: $0) }
        try #require(found == expected, "seed \(seed), line \(run.sequence): \(line)")
    }

    /// The identity of the subscription in a match. For an unexpected line, the result is the line itself, so that the
    /// comparison fails.
    private func identity(of match: String) -> String {
        guard match.hasPrefix(#"{"type":"match","change":\#(run.sequence),"#),
            let start = match.firstRange(of: #""container":"#)?.lowerBound,
            let end = match.firstRange(of: #","subscriptionType":"#)?.lowerBound
        else { return match }
        return String(match[start..<end])
    }

    mutating func restore() throws { restored = try run.resumed(with: Self.fresh(), from: run.snapshot) }

    /// - Parameter watchedShareMin: The least share of changes that have a match.
    func check(changesMin: Int, watchedShareMin: Double) throws {
        #expect(changes >= changesMin, "seed \(seed)")
        #expect(Double(watched) >= watchedShareMin * Double(changes), "seed \(seed): \(watched) of \(changes)")
        guard let restored else { return }
        #expect(restored.snapshot == run.snapshot, "seed \(seed)")
        #expect(restored.state == run.state, "seed \(seed)")
    }
}
