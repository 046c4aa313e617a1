import BuiltIns
import PipelineKit
import Replay
import TestSupport
import Testing

/// Tests `PipelineState`, which computes the states of stages from the recorded logs.
@Suite struct StateTests {
    private static func file(_ policy: String) throws -> PipelineFile {
        try PipelineFile.fiveStages(coalesce: "policy: \(policy), window: 1s, maximumDelay: 3s")
    }

    private static let logsByState = [
        "records": "changes", "subscriptions": "matches", "pending": "notifications", "badges": "pushes",
        "devices": "outcomes",
    ]

    @Test(arguments: ["latest", "debounce"])
    func `the state at a change is the state of stages that read no later change`(_ policy: String) async throws {
        let file = try Self.file(policy)
        var random = Seeded(Seeded.ofThisRun)
        let commands = Workload(seed: random.next(), length: Tier.value(200, full: 300)).commands
        let pipeline = try VirtualPipeline(file)
        try await pipeline.run(commands, batchSizes: [5, 50, 3], drains: true)
        defer { withExtendedLifetime(pipeline) {} }
        let recorded = try RecordedPipeline(file, logs: pipeline.folderOfLogs)
        let states = PipelineState(recorded, MachineFactory(registry: .builtIns))
        #expect(Set(states.names) == Set(Self.logsByState.keys))
        let chain = try Chain(file, registry: .builtIns)
        var namesWithState: Set<String> = []
        for (index, command) in commands.enumerated() {
            try chain.send(command)
            guard random.isOneIn(12) else { continue }
            for (name, log) in Self.logsByState {
                let state = try #require(try states.lines(name, at: .sequence(UInt64(index + 1))))
                #expect(state == chain.state(of: log), "\(name) at \(index + 1)")
                if !state.isEmpty { namesWithState.insert(name) }
            }
        }
        // By chance, it can happen that no notification is held at the random changes.
        #expect(namesWithState.isSuperset(of: Self.logsByState.keys.filter { $0 != "pending" }), "\(namesWithState)")
        try chain.finish()
        for (name, log) in Self.logsByState {
            #expect(try states.lines(name, at: .end) == chain.state(of: log), "\(name)")
        }
    }
}
