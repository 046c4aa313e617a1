import PipelineRuntime
import Replay
import TestSupport
import Testing

/// Simulates whole pipelines with random faults. No fault may lose, double or change an event.
///
/// The seed of the run is the seed of its first world. To repeat one world, set `BELFRY_SEED` to its seed.
@Suite(.serialized) struct Simulation {
    private static func seeds(_ ordinary: Int, full: Int) -> Range<UInt64> {
        Seeded.ofThisRun..<Seeded.ofThisRun + UInt64(Tier.value(ordinary, full: full))
    }

    @Test func `no simulated world loses, doubles or changes an event`() throws {
        let context = try HostContext()
        let seeds = Self.seeds(24, full: 1_000)
        let (faults, begun) = (FaultCounts(), ContinuousClock.now)
        var comparedStates: [String: Int] = [:]
        for seed in seeds {
            let world = try World(seed: seed, context: context)
            let problems = try world.run()
            faults.add(world.faults)
            comparedStates.merge(world.comparedStates, uniquingKeysWith: +)
            world.end()
            guard problems.isEmpty else {
                Issue.record("the world of seed \(seed):\n\(problems.joined(separator: "\n"))")
                return
            }
        }
        print("\(seeds.count) worlds from seed \(seeds.lowerBound) in \(ContinuousClock.now - begun): \(faults.text)")
        print("states compared with the logs: \(comparedStates.sorted { $0.key < $1.key })")
        #expect(comparedStates.count == 5, "only the states of \(comparedStates.keys.sorted()) were compared")
        guard Tier.current == .full else { return }
        for fault in Fault.allCases { #expect(faults[fault] > 0, "\(fault.rawValue) has never happened") }
    }

    /// In the world of seed 178475, one turn of deliver did two things with the same push in flight: it handed the push
    /// out again, to another transport, and it took the last answer to the push.
    @Test(arguments: [178_475]) func `a seed that once showed a defect has no problems`(_ seed: UInt64) throws {
        let world = try World(seed: seed, context: try HostContext())
        let problems = try world.run()
        world.end()
        #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
    }

    @Test func `replay and what-if find no difference in the logs of a simulated world`() async throws {
        let context = try HostContext()
        for seed in Self.seeds(10, full: 40) {
            let world = try World(seed: seed, context: context)
            _ = try world.run()
            world.end()
            let recorded = try RecordedPipeline(world.file, logs: world.folder.path + "/logs")
            var replay = PipelineReplay(recorded, MachineFactory(registry: .simulated))
            replay.spanBytesMin = 4_096
            for result in try await replay.run() {
                let difference = result.difference.map { "\($0)" } ?? "none"
                #expect(result.difference == nil, "seed \(seed), \(result.stage): \(difference)")
            }
            let same = try WhatIf(recorded, WhatIfChange(world.file), registry: .simulated).run()
            #expect(same.isSame, "seed \(seed)")
        }
    }

    @Test func `a seed always makes the same world`() throws {
        let context = try HostContext()
        for seed in UInt64(1)...3 {
            let logs = try (1...2).map { _ in
                let world = try World(seed: seed, context: context)
                _ = try world.run()
                world.end()
                return try world.file.stages.flatMap { try LogLines.read(world.folder.path + "/logs/" + $0.logName) }
            }
            #expect(logs[0] == logs[1])
        }
    }

    @Test(arguments: Canary.allCases) func `a broken pipeline is detected`(_ canary: Canary) throws {
        let context = try HostContext()
        for seed in UInt64(1)...40 {
            let world = try World(seed: seed, context: context, canary: canary)
            let time = world.time
            let problems = try WallClockCoalesce.$wall.withValue({ time.wall }, operation: { try world.run() })
            world.end()
            if problems.contains(where: { $0.hasPrefix(canary.finding) }) { return }
        }
        Issue.record("the checks of forty worlds did not detect the canary \(canary.rawValue)")
    }
}
