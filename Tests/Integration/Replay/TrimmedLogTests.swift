import BuiltIns
import EventLog
import Foundation
import PipelineKit
import PipelineRuntime
import Replay
import Synchronization
import TestSupport
import Testing

/// Tests logs whose first segments were removed by retention.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct TrimmedLogTests {
    private static func file(_ window: String = "1s") throws -> PipelineFile {
        try PipelineFile.fiveStages(coalesce: "window: \(window), maximumDelay: 3s")
    }

    private static let tiny = LogSettings(
        sync: .never, segmentBytes: 4_000, snapshotBytes: 1, retention: RetentionSettings(bytes: 12_000))

    /// A pipeline whose logs have all lost their first segments, and its commands.
    private static func trimmedPipeline() async throws -> (VirtualPipeline, [String]) {
        var random = Seeded(Seeded.ofThisRun)
        let commands = Workload(seed: random.next(), length: Tier.value(600, full: 1_200), records: 1).commands
        let start = ContinuousClock.now
        let fastTime = HostTime(monotonicNow: { start + (ContinuousClock.now - start) * 20 })
        let pipeline = try VirtualPipeline(file(), log: tiny, time: fastTime)
        let places = (1...3).map { $0 * commands.count / 4 }
        for (start, end) in zip([0] + places, places + [commands.count]) {
            let batchSizes = (0..<100).map { _ in 1 + random.below(30) }
            try await pipeline.run(Array(commands[start..<end]), batchSizes: batchSizes, drains: end == commands.count)
            {
                pipeline in
                guard start == places[1] else { return }
                for host in pipeline.hosts {
                    try await host.wait(for: "its first segment to be removed") { $0.first > 1 }
                }
            }
        }
        for log in VirtualPipeline.logs {
            #expect(try EventLogs.summary(directory: pipeline.folderOfLogs + "/" + log).firstSequence > 1, "\(log)")
        }
        return (pipeline, commands)
    }

    private final class Notices: Sendable {
        let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock { $0 } }
        func add(_ line: String) { lines.withLock { $0.append(line) } }
    }

    @Test func `a replay of trimmed logs begins with a snapshot, says so, and finds a later difference`()
        async throws
    {
        let (pipeline, _) = try await Self.trimmedPipeline()
        let recorded = try RecordedPipeline(Self.file(), logs: pipeline.folderOfLogs)
        let notices = Notices()
        var replay = PipelineReplay(recorded, MachineFactory(registry: .builtIns))
        replay.notice = notices.add
        let results = try await replay.run()
        #expect(results.compactMap(\.difference).isEmpty)
        #expect(results.count == 5 && results.allSatisfy { $0.events > 0 })
        let changes = try EventLogs.summary(directory: pipeline.folderOfLogs + "/changes")
        #expect(results.first?.events == changes.lastSequence + 1 - changes.firstSequence)
        #expect(Set(notices.all.map { $0.prefix { $0 != ":" } }) == ["match", "coalesce", "payload", "deliver"])
        #expect(notices.all.allSatisfy { $0.hasSuffix(", because older events are gone") })

        try FileManager.default.removeItem(atPath: pipeline.folderOfLogs + "/notifications/settings.ndjson")
        let others = try RecordedPipeline(Self.file("10ms"), logs: pipeline.folderOfLogs)
        let found = try await PipelineReplay(others, MachineFactory(registry: .builtIns), stages: ["coalesce"]).run()
        #expect(found.compactMap(\.difference).first?.log == "notifications")
    }

    @Test func `trimmed logs can be replayed after export and import`() async throws {
        let (pipeline, _) = try await Self.trimmedPipeline()
        let recorded = try RecordedPipeline(Self.file("10ms"), logs: try pipeline.exportedAndImported())
        let results = try await PipelineReplay(recorded, MachineFactory(registry: .builtIns)).run()
        #expect(results.compactMap(\.difference).isEmpty)
        #expect(results.count == 5 && results.allSatisfy { $0.events > 0 })
    }

    @Test func `the error of a replay without a snapshot says what is missing`() async throws {
        let (pipeline, _) = try await Self.trimmedPipeline()
        try FileManager.default.removeItem(atPath: pipeline.folderOfLogs + "/notifications/snapshots")
        let recorded = try RecordedPipeline(Self.file(), logs: pipeline.folderOfLogs)
        let replay = PipelineReplay(recorded, MachineFactory(registry: .builtIns), stages: ["coalesce"])
        let error = await #expect(throws: ReplayError.self) { try await replay.run() }
        #expect(try #require(error).description.contains("no snapshot replaces the events before it"))
    }

    @Test func `the states from trimmed logs are the states of stages that ran all commands`() async throws {
        let (pipeline, commands) = try await Self.trimmedPipeline()
        let chain = try Chain(Self.file(), registry: .builtIns)
        for command in commands { try chain.send(command) }
        try chain.finish()
        let recorded = try RecordedPipeline(Self.file(), logs: pipeline.folderOfLogs)
        let states = PipelineState(recorded, MachineFactory(registry: .builtIns))
        for (name, log) in [
            "records": "changes", "subscriptions": "matches", "pending": "notifications", "badges": "pushes",
            "devices": "outcomes",
        ] {
            #expect(try states.lines(name, at: .end) == chain.state(of: log), "\(name)")
        }
    }

    @Test
    func `whatif on trimmed logs finds no difference without a change, and finds each push that a new setting changes`()
        async throws
    {
        let (pipeline, _) = try await Self.trimmedPipeline()
        let recorded = try RecordedPipeline(Self.file(), logs: pipeline.folderOfLogs)
        let notices = Notices()
        var same = try WhatIf(recorded, WhatIfChange(Self.file()), registry: .builtIns)
        same.notice = notices.add
        let report = try same.run()
        #expect(report.isSame, "\(report)")
        #expect(report.pushes > 0 && report.pushes < pipeline.pushes.count)
        #expect(!notices.all.isEmpty && notices.all.allSatisfy { $0.hasSuffix(", because older events are gone") })
        // The setting changes a header of every push. Without a change, as above, whatif runs all stages from match on.
        // With this change it runs only payload and deliver, because payload is the first stage with other settings.
        // So it may begin with an earlier snapshot and include more pushes.
        let expiring = try PipelineFile.fiveStages(payload: "expiration: 1h")
        let other = try WhatIf(recorded, WhatIfChange(expiring), registry: .builtIns).run()
        #expect(other.groups.map(\.changed).reduce(0, +) == other.pushes && other.pushes > 0, "\(other)")
    }
}
