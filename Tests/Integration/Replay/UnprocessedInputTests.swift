import BuiltIns
import PipelineKit
import Replay
import TestSupport
import Testing

/// Tests replays of a stage whose log ends before its input does.
@Suite struct UnprocessedInputTests {
    /// Replays payload after `more` has added events to the end of its upstream log.
    private static func replayPayload(afterAdding more: (_ notifications: [String]) -> [String]) async throws
        -> PipelineReplay.StageResult
    {
        let pipeline = try VirtualPipeline(PipelineFile.fiveStages(coalesce: "window: 1s"))
        try await pipeline.run(Workload(seed: 5, length: 300).commands, batchSizes: [], drains: true)
        let notifications = try pipeline.events(of: "notifications")
        let logs = try RewrittenLogs(of: pipeline.folderOfLogs)
        defer { withExtendedLifetime(logs) {} }
        try logs.rewrite("notifications") { sequence, event in
            sequence == notifications.count ? [event] + more(notifications) : [event]
        }
        let recorded = try RecordedPipeline(PipelineFile.fiveStages(coalesce: "window: 1s"), logs: logs.path)
        let replay = PipelineReplay(recorded, MachineFactory(registry: .builtIns), stages: ["payload"])
        return try #require(try await replay.run().first)
    }

    @Test func `input that leads to no output counts as processed`() async throws {
        let result = try await Self.replayPayload { _ in [#"{"type":"coalesced","match":1,"change":1}"#] }
        #expect(result.verdict == .identical && result.unprocessed == 0, "\(result)")
    }

    @Test func `input whose output is missing counts as not processed`() async throws {
        let result = try await Self.replayPayload { notifications in
            let last = notifications.last { $0.hasPrefix(#"{"type":"notification""#) } ?? ""
            return [#"{"type":"coalesced","match":1,"change":1}"#, last, last]
        }
        #expect(result.verdict == .identical && result.unprocessed == 2, "\(result)")
    }
}
