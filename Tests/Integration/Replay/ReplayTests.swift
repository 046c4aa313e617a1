import BuiltIns
import Foundation
import PipelineKit
import Replay
import TestSupport
import Testing
import Time

/// Tests that a replay makes the same events as the logs have, and that it finds an event that differs.
@Suite struct ReplayTests {
    private static func file(_ settings: String = "window: 1s, maximumDelay: 3s") throws -> PipelineFile {
        try PipelineFile.fiveStages(coalesce: settings)
    }

    private static func replay(_ file: PipelineFile, _ logs: String) async throws -> [PipelineReplay.StageResult] {
        let recorded = try RecordedPipeline(file, logs: logs)
        return try await PipelineReplay(recorded, MachineFactory(registry: .builtIns)).run()
    }

    private static let fixtures = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Logs").path

    @Test(arguments: [("v1/live/live.yaml", "v1/live/logs"), ("v1/tour/quickstart.yaml", "v1/tour")])
    func `logs of format 1 replay without differences`(_ file: String, _ logs: String) async throws {
        let file = try PipelineFile.load(path: Self.fixtures + "/" + file, registry: .builtIns)
        let results = try await Self.replay(file, Self.fixtures + "/" + logs)
        #expect(results.count == 5)
        #expect(results.compactMap(\.difference).isEmpty)
        #expect(results.allSatisfy { $0.events > 10 && $0.unprocessed == 0 })
    }

    @Test(arguments: ["latest", "debounce", "none", "latest, pendingPerUser: 1, atLimit: flush-all"])
    func `random commands lead to the same logs in a pipeline, a replay and a chain of stages`(_ policy: String)
        async throws
    {
        let file = try Self.file("window: 1s, maximumDelay: 3s, policy: \(policy)")
        var random = Seeded(Seeded.ofThisRun)
        let commands = Workload(seed: random.next(), length: Tier.value(500, full: 1_000)).commands
        let pipeline = try VirtualPipeline(file)
        for start in stride(from: 0, to: commands.count, by: 400) {
            let part = Array(commands[start..<min(start + 400, commands.count)])
            let isLast = start + 400 >= commands.count
            let batchSizes = (0..<part.count).map { _ in 1 + random.below(30) }
            try await pipeline.run(
                part, batchSizes: batchSizes, stoppingStageAtHalf: isLast ? nil : 1 + random.below(4), drains: isLast)
        }
        let results = try await Self.replay(file, pipeline.folderOfLogs)
        #expect(results.compactMap(\.difference).isEmpty)

        let chain = try Chain(file, registry: .builtIns)
        for command in commands { try chain.send(command) }
        try chain.finish()
        #expect(chain.logs == VirtualPipeline.logs)
        for log in chain.logs { #expect(try chain.events(of: log).map(\.text) == pipeline.events(of: log), "\(log)") }
        #expect(chain.pushes == pipeline.pushes)
    }

    /// A pipeline that has run random commands.
    private static func randomRun(
        seed: UInt64, settings: String = "window: 1s, maximumDelay: 3s"
    ) async throws -> VirtualPipeline {
        let pipeline = try VirtualPipeline(Self.file(settings))
        try await pipeline.run(Workload(seed: seed, length: 400).commands, batchSizes: [], drains: true)
        return pipeline
    }

    @Test func `a changed event is found with its sequence and the changed member`() async throws {
        var random = Seeded(Seeded.ofThisRun)
        let pipeline = try await Self.randomRun(seed: random.next())
        let members = [
            "matches": "subscriptionID", "notifications": "subscriptionID", "pushes": "user", "outcomes": "outcome",
        ]
        for (log, member) in members {
            let events = try pipeline.events(of: log)
            let candidates = events.indices.filter {
                events[$0].contains(#""\#(member)":""#) && !events[$0].contains("device.")
            }
            try #require(!candidates.isEmpty, "none of \(events.count) events in \(log) has a \(member)")
            let target = UInt64(random.one(of: candidates) + 1)
            let logs = try RewrittenLogs(of: pipeline.folderOfLogs)
            defer { withExtendedLifetime(logs) {} }
            try logs.rewrite(log) { sequence, event in
                [
                    sequence == target
                        ? event.replacing(#""\#(member)":""#, with: #""\#(member)":"x"#, maxReplacements: 1) : event
                ]
            }
            let difference = try #require(try await Self.replay(Self.file(), logs.path).compactMap(\.difference).first)
            #expect(difference.log == log)
            #expect(difference.sequence == target)
            #expect(difference.pointer == "/" + member)
            #expect(difference.recorded?.hasPrefix(#""x"#) == true)
        }
    }

    @Test func `a missing event and an extra event are found`() async throws {
        let pipeline = try await Self.randomRun(seed: 7)
        let count = UInt64(try pipeline.events(of: "outcomes").count)
        for target in [1, count / 2, count] {
            let fewer = try RewrittenLogs(of: pipeline.folderOfLogs)
            try fewer.rewrite("outcomes") { $0 == target ? [] : [$1] }
            let missing = try #require(
                try await Self.replay(Self.file(), fewer.path).compactMap(\.difference).first, "event \(target)")
            #expect((missing.log, missing.sequence) == ("outcomes", target))
            let more = try RewrittenLogs(of: pipeline.folderOfLogs)
            try more.rewrite("outcomes") { $0 == target ? [$1, #"{"type":"invented"}"#] : [$1] }
            let extra = try #require(
                try await Self.replay(Self.file(), more.path).compactMap(\.difference).first, "event \(target)")
            #expect((extra.log, extra.sequence) == ("outcomes", target + 1))
        }
    }

    @Test func `without recorded settings, a replay finds the difference that the file's settings make`() async throws {
        let pipeline = try await Self.randomRun(seed: 11, settings: "policy: debounce, window: 1s, maximumDelay: 3s")
        defer { withExtendedLifetime(pipeline) {} }
        try FileManager.default.removeItem(atPath: pipeline.folderOfLogs + "/notifications/settings.ndjson")
        let results = try await Self.replay(
            Self.file("policy: debounce, window: 10ms, maximumDelay: 3s"), pipeline.folderOfLogs)
        #expect(results.filter { $0.difference != nil }.map(\.stage) == ["coalesce"])
        let difference = try #require(results.compactMap(\.difference).first)
        #expect(difference.cause != .unknown)
    }

    @Test func `a replay finds a log that was made from another upstream log`() async throws {
        let pipeline = try await Self.randomRun(seed: 3)
        let logs = try RewrittenLogs(of: pipeline.folderOfLogs)
        defer { withExtendedLifetime(logs) {} }
        let other = LogIdentity.random()
        try Data("{\"log\":\"matches\",\"identity\":\"\(other)\"}\n".utf8)
            .write(to: URL(fileURLWithPath: logs.path + "/notifications/upstream.json"))
        let difference = try #require(try await Self.replay(Self.file(), logs.path).compactMap(\.difference).first)
        #expect(difference.stage == "coalesce")
        #expect(difference.pointer == "/upstream")
    }
}

/// Tests replays of a part of the history.
@Suite struct ReplayRangeTests {
    private static func file(_ settings: String) throws -> PipelineFile {
        try PipelineFile.fiveStages(coalesce: settings)
    }

    @Test func `a replay of a range does not compare events outside the range`() async throws {
        let file = try Self.file("window: 1s, maximumDelay: 3s")
        let pipeline = try VirtualPipeline(file)
        try await pipeline.run(Workload(seed: 5, length: 600).commands, batchSizes: [], drains: true)
        let logs = try RewrittenLogs(of: pipeline.folderOfLogs)
        defer { withExtendedLifetime(logs) {} }
        let middle = UInt64(try pipeline.events(of: "outcomes").count / 2)
        try logs.rewrite("outcomes") { sequence, event in
            [sequence == middle ? event.replacing(#""outcome":"#, with: #""outcame":"#) : event]
        }
        let recorded = try RecordedPipeline(file, logs: logs.path)
        func differs(_ from: UInt64?, _ until: UInt64?) async throws -> Bool {
            let range = ReplayRange(from: from.map { .sequence($0) }, until: until.map { .sequence($0) })
            let replay = try PipelineReplay(
                recorded, MachineFactory(registry: .builtIns), parts: range.parts(of: recorded))
            return try await replay.run().contains { $0.difference != nil }
        }
        #expect(try await differs(nil, nil))
        #expect(try await differs(2, 600))
        #expect(try await !differs(550, nil))
        #expect(try await !differs(nil, 60))
        #expect(try await !differs(580, 600))
    }
}
