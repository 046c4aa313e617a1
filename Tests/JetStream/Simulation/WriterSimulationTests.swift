import TestSupport
import Testing

@testable import JetStream

@Suite struct WriterSimulation {
    private static let histories = Tier.value(2000, full: 20_000)

    @Test(arguments: Seeded.seeds)
    func `thousands of histories with two hosts lose, repeat and replace no message`(seed: UInt64) throws {
        var seeds = Seeded(seed)
        var (messages, replacements, repeats) = (0, 0, 0)
        for _ in 0..<Self.histories {
            let seed = seeds.next()
            var world = try WriterWorld(seed: seed)
            world.run()
            let problems = world.problems
            #expect(problems == [], "history \(seed)")
            if !problems.isEmpty { return }
            messages += world.stream.messages.count
            replacements += world.runs.count { $0.error != nil }
            repeats += world.publishes.count - Set(world.publishes.map(\.headers)).count
        }
        // The histories contain what they are to test.
        #expect(messages > 10 * Self.histories && replacements > 3 * Self.histories && repeats > 3 * Self.histories)
        print("\(messages) messages, \(replacements) replaced writers, \(repeats) repeated publishes")
    }

    @Test(arguments: BrokenRule.allCases)
    func `a broken rule of the writer is noticed`(rule: BrokenRule) throws {
        var seeds = Seeded(Seeded.ofThisRun)
        let isNoticed = try (0..<200).contains { _ in
            var world = try WriterWorld(seed: seeds.next(), breaking: rule)
            world.run()
            return !world.problems.isEmpty
        }
        #expect(isNoticed)
    }
}
