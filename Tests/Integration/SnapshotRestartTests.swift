import EventLog
import Foundation
import PipelineKit
import PipelineRuntime
import TestSupport
import Testing

/// Tests that a start from a snapshot has the same effect as a start from the whole history, even if snapshots are lost
/// or damaged.
@Suite struct SnapshotRestart {
    private func pipeline(snapshotBytes: Int?) throws -> VirtualPipeline {
        try VirtualPipeline(PipelineFile.fiveStages(), log: LogSettings(sync: .never, snapshotBytes: snapshotBytes))
    }

    @Test func `snapshots that are made, lost and damaged at random change no event in any log`() async throws {
        var random = Seeded(Seeded.ofThisRun)
        let commands = Workload(seed: random.next(), length: Tier.value(600, full: 1_500)).commands
        let expected = try pipeline(snapshotBytes: nil)
        try await expected.run(commands, batchSizes: [], drains: true)
        for snapshotBytes in [1, 20_000] {
            let pipeline = try pipeline(snapshotBytes: snapshotBytes)
            let places = (0..<12).map { _ in random.below(commands.count) }.sorted()
            for (start, end) in zip([0] + places, places) {
                let batchSizes = (0..<40).map { _ in 1 + random.below(60) }
                try await pipeline.run(
                    Array(commands[start..<end]), batchSizes: batchSizes, stoppingStageAtHalf: 1 + random.below(4),
                    drains: false)
                try tamper(pipeline, &random)
            }
            try await pipeline.run(Array(commands[(places.last ?? 0)...]), batchSizes: [], drains: true)
            for log in VirtualPipeline.logs {
                #expect(try pipeline.events(of: log) == expected.events(of: log), "\(log), stopped at \(places)")
            }
            #expect(pipeline.pushes == expected.pushes)
        }
    }

    @Test func `after a clean stop no stage reads the events of its upstream again`() async throws {
        let commands = Workload(seed: 3, length: 300).commands
        let pipeline = try pipeline(snapshotBytes: 64 << 20)
        try await pipeline.run(commands, batchSizes: [], drains: true)
        #expect(pipeline.eventsIn("deliver") > 100)
        try await pipeline.run([], batchSizes: [], drains: false)
        for stage in ["match", "coalesce", "payload", "deliver"] { #expect(pipeline.eventsIn(stage) == 0, "\(stage)") }
        for log in VirtualPipeline.logs {
            #expect(try pipeline.snapshots(of: log).list().count == 1, "\(log): a snapshot was added without input")
        }
    }

    @Test func `a damaged snapshot is replaced after the next start`() async throws {
        let pipeline = try pipeline(snapshotBytes: 64 << 20)
        try await pipeline.run(Workload(seed: 4, length: 100).commands, batchSizes: [], drains: true)
        let newest = try #require(try pipeline.snapshots(of: "matches").list().last)
        var bytes = try Array(Data(contentsOf: URL(fileURLWithPath: newest.path)))
        bytes[bytes.count - 1] ^= 1
        try Data(bytes).write(to: URL(fileURLWithPath: newest.path))
        let position = try #require(newest.header).position
        try await pipeline.run([], batchSizes: [], drains: false) { pipeline in
            let match = try #require(pipeline.host("match"))
            try await match.wait(for: "the history") { $0.taken >= position && $0.phase == .running }
        }
        #expect(pipeline.eventsIn("match") > 0, "match did not read its history")
        try await pipeline.run([], batchSizes: [], drains: false)
        #expect(pipeline.eventsIn("match") == 0)
        let again = try pipeline.snapshots(of: "matches").newest(
            where: { _ in true }, problem: { Issue.record("\($0)") })
        #expect(again?.header.position == position)
    }

    /// Deletes, damages and truncates snapshots at random.
    private func tamper(_ pipeline: VirtualPipeline, _ random: inout Seeded) throws {
        for log in VirtualPipeline.logs {
            for file in try pipeline.snapshots(of: log).list() {
                var bytes = try Array(Data(contentsOf: URL(fileURLWithPath: file.path)))
                // An earlier call may have truncated the snapshot to zero bytes.
                if bytes.isEmpty { continue }
                switch random.below(6) {
                case 0: try FileManager.default.removeItem(atPath: file.path)
                case 1:
                    bytes[random.below(bytes.count)] ^= 1 << random.below(8)
                    try Data(bytes).write(to: URL(fileURLWithPath: file.path))
                case 2: try Data(bytes.prefix(random.below(bytes.count))).write(to: URL(fileURLWithPath: file.path))
                default: break
                }
            }
        }
    }
}

extension VirtualPipeline {
    func snapshots(of log: String) -> SnapshotStore { SnapshotStore(logDirectory: folder.path + "/logs/" + log) }
}
