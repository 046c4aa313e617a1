import BuiltIns
import EventLog
import Foundation
import PipelineKit
import Replay
import TestSupport
import Testing

/// Tests replays that divide a log at its snapshots into spans, and replay the spans at the same time.
@Suite struct ReplaySpanTests {
    @Test func `a replay in spans finds no difference in unchanged logs, and finds a changed event`() async throws {
        var random = Seeded(Seeded.ofThisRun)
        let log = LogSettings(sync: .never, segmentBytes: 64 << 10, snapshotBytes: 8 << 10)
        let pipeline = try VirtualPipeline(PipelineFile.fiveStages(), log: log)
        let commands = Workload(seed: random.next(), length: Tier.value(600, full: 1_200)).commands
        for start in stride(from: 0, to: commands.count, by: 300) {
            let end = min(start + 300, commands.count)
            try await pipeline.run(
                Array(commands[start..<end]), batchSizes: (0..<300).map { _ in 1 + random.below(20) },
                drains: end == commands.count)
        }
        var replay = PipelineReplay(
            try RecordedPipeline(PipelineFile.fiveStages(), logs: pipeline.folderOfLogs),
            MachineFactory(registry: .builtIns))
        replay.spanBytesMin = 16 << 10
        let spans = try replay.spanCounts()
        #expect(spans.values.filter { $0 > 2 }.count >= 3, "\(spans)")
        #expect(try await replay.run().compactMap(\.difference) == [])

        let outcomes = try pipeline.events(of: "outcomes").count
        let target = UInt64(1 + random.below(outcomes))
        let logs = try RewrittenLogs(of: pipeline.folderOfLogs)
        try logs.rewrite("outcomes") { $0 == target ? [$1.replacing("\"user\":\"", with: "\"user\":\"x")] : [$1] }
        var changed = PipelineReplay(
            try RecordedPipeline(PipelineFile.fiveStages(), logs: logs.path), MachineFactory(registry: .builtIns))
        changed.spanBytesMin = 16 << 10
        let difference = try #require(try await changed.run().compactMap(\.difference).first)
        #expect((difference.log, difference.sequence, difference.pointer) == ("outcomes", target, "/user"))
    }

    @Test func `a replay in spans finds a snapshot with a wrong state`() async throws {
        let log = LogSettings(sync: .never, snapshotBytes: 8 << 10)
        let pipeline = try VirtualPipeline(PipelineFile.fiveStages(), log: log)
        let commands = Workload(seed: 5, length: 900).commands
        try await pipeline.run(commands, batchSizes: [Int](repeating: 15, count: 60), drains: true)
        let store = SnapshotStore(logDirectory: pipeline.folderOfLogs + "/outcomes")
        let headers = try store.list().compactMap(\.header)
        let first = try #require(headers.first)
        let fit = SnapshotFit(
            stage: first.stage, version: first.version, log: first.log, upstream: first.upstream, lastSequence: .max)
        let other = try #require(try store.newest(fitting: fit, where: { $0 == first }, problem: { _ in }))
        for header in headers.dropFirst() {
            _ = try other.state.withUnsafeBytes { try store.write(header, state: $0) }
        }
        var replay = PipelineReplay(
            try RecordedPipeline(PipelineFile.fiveStages(), logs: pipeline.folderOfLogs),
            MachineFactory(registry: .builtIns))
        replay.spanBytesMin = 4 << 10
        let difference = try #require(try await replay.run().compactMap(\.difference).first)
        #expect(difference.log == "outcomes")
        #expect(headers.dropFirst().contains { $0.sequence == difference.sequence })
        #expect(difference.recorded?.hasPrefix(#""the state in "#) == true)
    }
}
