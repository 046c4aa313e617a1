import EventLog
import Foundation
import Glibc
import PipelineKit
import PipelineRuntime
import TestSupport
import Testing

/// Old segments go, and nobody misses them.
@Suite(.serialized) struct RetentionOfLogs {
    private static func file() throws -> PipelineFile {
        try PipelineFile.parse(
            """
            pipeline: retention
            data: /nowhere
            stages:
              ingest: {}
              match: {from: ingest}
              coalesce: {from: match, window: 1s, maximumDelay: 3s}
              payload: {from: coalesce}
              deliver: {from: payload, transports: {apns: {use: console}}}
            """, file: "retention.yaml")
    }

    private static let tiny = LogSettings(
        sync: .never, segmentBytes: 4_000, snapshotBytes: 1, retention: RetentionSettings(bytes: 12_000))

    /// The clock that says when to look and when to speak up, so much faster.
    private static func hurried() -> HostTime {
        let start = ContinuousClock.now
        return HostTime(steady: { start + (ContinuousClock.now - start) * 20 })
    }

    @Test(.timeLimit(.minutes(2))) func aPipelineThatForgetsSendsTheSamePushesAsOneThatDoesNot() async throws {
        var random = Seeded(Seeded.drawn(for: "retention"))
        let commands = Story(seed: random.next(), length: 1_200).commands
        let expected = try VirtualPipeline(Self.file())
        try await expected.live(commands, cuts: [], drains: true)
        let pipeline = try VirtualPipeline(Self.file(), log: Self.tiny, time: Self.hurried())
        let places = (1...3).map { $0 * commands.count / 4 }
        for (start, end) in zip([0] + places, places + [commands.count]) {
            let cuts = (0..<100).map { _ in 1 + random.below(30) }
            let piece = Array(commands[start..<end])
            try await pipeline.live(piece, cuts: cuts, drains: end == commands.count) { pipeline in
                guard start == places[1] else { return }
                for host in pipeline.hosts { await host.control.wait { $0.first > 1 } }
            }
        }
        #expect(pipeline.pushes == expected.pushes)
        for log in VirtualPipeline.logs {
            let summary = try EventLogs.summary(directory: pipeline.folder.path + "/logs/" + log)
            #expect(summary.firstSequence > 1, "\(log)")
            let snapshots = try pipeline.snapshots(of: log).list().compactMap(\.header)
            #expect(snapshots.allSatisfy { max($0.sequence, 1) >= summary.firstSequence }, "\(log)")
        }
    }

    @Test(.timeLimit(.minutes(1))) func aStageThatIsBehindHoldsWhatItHasNotTaken() async throws {
        let commands = Story(seed: 5, length: 600).commands
        let pipeline = try VirtualPipeline(Self.file(), log: Self.tiny, time: Self.hurried())
        let expected = try VirtualPipeline(Self.file())
        try await expected.live(commands, cuts: [], drains: true)
        // Coalesce is stopped for the second half; match goes on, and keeps all of its log that coalesce may ask for.
        try await pipeline.live(commands, cuts: Array(repeating: 10, count: 100), without: 2, drains: false) {
            pipeline in
            await pipeline.host("match")?.control.wait { $0.taken >= UInt64(commands.count) }
        }
        #expect(try EventLogs.summary(directory: pipeline.folder.path + "/logs/matches").bytes > 24_000)
        try await pipeline.live([], cuts: [], drains: true)
        #expect(pipeline.pushes == expected.pushes)
    }

    @Test(.timeLimit(.minutes(1))) func aStageThatHasAnsweredNothingHoldsEverything() async throws {
        let commands = Story(seed: 6, length: 400).commands
        let twice = try PipelineFile.parse(
            """
            pipeline: retention
            data: /nowhere
            stages:
              ingest: {}
              match: {from: ingest}
              never: {from: ingest, command: [/bin/sleep, "600"]}
            """, file: "retention.yaml")
        let pipeline = try VirtualPipeline(twice, log: Self.tiny, time: Self.hurried())
        try await pipeline.live(commands, cuts: Array(repeating: 10, count: 100), drains: false) { pipeline in
            await pipeline.host("match")?.control.wait { $0.taken >= UInt64(commands.count) }
        }
        #expect(try pipeline.events(of: "changes").count == commands.count)
        #expect(try EventLogs.summary(directory: pipeline.folder.path + "/logs/changes").firstSequence == 1)
    }
}
