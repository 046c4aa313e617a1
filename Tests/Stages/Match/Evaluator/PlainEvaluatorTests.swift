import PipelineKit
import TestSupport
import Testing
import Time

@testable import Match

/// The stage finds the same matches as ``PlainEvaluator``, which has no index.
struct PlainEvaluatorTests {
    @Test(arguments: Seeded.seeds)
    func `every change finds the same subscriptions as without an index, in every scope`(seed: UInt64) throws {
        var both = try Both(.wide, seed: seed)
        for _ in 0..<3000 { try both.step(saves: 25, deletes: 5) }
        try both.check(changes: 1500, share: 0.6)
    }

    @Test(arguments: Seeded.seeds)
    func `every change finds the same subscriptions as without an index, among many of one type`(seed: UInt64) throws {
        var both = try Both(.crowded, seed: seed)
        for _ in 0..<700 { try both.step(saves: 100, deletes: 0) }
        for _ in 0..<400 { try both.step(saves: 30, deletes: 20) }
        try both.check(changes: 150, share: 0.8)
    }

    /// The restored stage builds its index at once from the remaining subscriptions. The original stage builds its index
    /// step by step.
    @Test(arguments: Seeded.seeds)
    func `a restored stage writes the same matches as the original one`(seed: UInt64) throws {
        var both = try Both(.wide, seed: seed)
        let cut = both.random.below(800)
        for step in 0..<1200 {
            if step == cut || step == 1000 { try both.restore() }
            try both.step(saves: 30, deletes: 10)
        }
        try both.check(changes: 500, share: 0.4)
    }

    @Test func `every comparator takes part in a match`() throws {
        var coverage = Coverage()
        for world in [World.wide, .crowded] {
            var both = try Both(world, seed: 11)
            for _ in 0..<24 where !coverage.missing.isEmpty {
                for _ in 0..<100 { try both.step(saves: 40, deletes: 5) }
                coverage.merge(both.coverage)
            }
        }
        #expect(coverage.missing == [])
    }
}

/// A stage and the plain evaluator, which get the same lines.
private struct Both {
    var random: Seeded
    private let seed: UInt64
    private let world: World
    private var run: StageRun<MatchStage>
    /// A stage that was restored from a snapshot of the stage in `run`.
    private var restored: StageRun<MatchStage>?
    private var plain = PlainEvaluator()
    private(set) var coverage = Coverage()
    private var changes = 0
    private var watched = 0

    init(_ world: World, seed: UInt64) throws {
        (self.world, self.seed, random) = (world, seed, Seeded(seed))
        run = StageRun(try Self.fresh())
    }

    private static func fresh() throws -> MatchStage {
        let context = StageContext(
            log: LogIdentity(seed: "match tests", name: "matches"), upstream: Feed.upstream, upstreamName: "changes")
        return try MatchStage(MatchSettings(), context: context)
    }

    /// Feeds a save with the probability `saves`, a delete with the probability `deletes` (both in percent), and otherwise a
    /// change.
    mutating func step(saves: Int, deletes: Int) throws {
        switch random.below(100) {
        case ..<saves: try save()
        case ..<(saves + deletes): try delete()
        default: try change()
        }
    }

    private mutating func save() throws {
        let subscription = try DrawnSubscription(world, &random)
        plain.save(subscription)
        try expect([], of: subscription.line)
    }

    /// Usually deletes a saved subscription.
    private mutating func delete() throws {
        let drawn = try DrawnSubscription(world, &random)
        let gone = random.isOneIn(4) ? drawn : plain.saved.randomElement(using: &random) ?? drawn
        plain.delete(gone.identity)
        try expect([], of: gone.deleting)
    }

    private mutating func change() throws {
        let change = DrawnChange(world, &random)
        let expected = try plain.watchers(of: change)
        try expect(expected.map(\.identity), of: change.line)
        for subscription in expected { try coverage.add(subscription, change) }
        changes += 1
        watched += expected.isEmpty ? 0 : 1
    }

    private mutating func expect(_ expected: [String], of line: String) throws {
        let said = try run.receive(.init(line))
        if let again = try restored?.receive(.init(line)) {
            try #require(again == said, "seed \(seed), line \(run.sequence): \(line)")
        }
        let found = said.filter { !$0.hasPrefix(#"{"type":"not_matched""#) }.map { identity(of: $0) }
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

    /// - Parameter share: The least share of changes that have a match.
    func check(changes least: Int, share: Double) throws {
        #expect(changes >= least, "seed \(seed)")
        #expect(Double(watched) >= share * Double(changes), "seed \(seed): \(watched) of \(changes)")
        guard let restored else { return }
        #expect(restored.snapshot == run.snapshot, "seed \(seed)")
        #expect(restored.state == run.state, "seed \(seed)")
    }
}
