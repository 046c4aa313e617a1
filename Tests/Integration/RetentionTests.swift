import BuiltIns
import EventLog
import Foundation
import Glibc
import PipelineKit
import PipelineRuntime
import Synchronization
import TestSupport
import Testing
import Time

/// Old segments go, and nobody misses them.
@Suite(.serialized, .timeLimit(.minutes(5))) struct RetentionOfLogs {
    private static func file(window: String = "1s, maximumDelay: 3s") throws -> PipelineFile {
        try PipelineFile.fiveStages(coalesce: "window: \(window)")
    }

    private static let tiny = LogSettings(
        sync: .never, segmentBytes: 4_000, snapshotBytes: 1, retention: RetentionSettings(bytes: 12_000))

    /// The clock that says when to look and when to speak up, so much faster.
    private static func hurried() -> HostTime {
        let start = ContinuousClock.now
        return HostTime(steady: { start + (ContinuousClock.now - start) * 20 })
    }

    private static let cuts = Array(repeating: 10, count: 100)

    @Test func aPipelineThatForgetsSendsTheSamePushesAsOneThatDoesNot() async throws {
        var random = Seeded(Seeded.ofThisRun)
        let commands = Story(seed: random.next(), length: Tier.rounds(600, full: 1_200)).commands
        let expected = try VirtualPipeline(Self.file())
        try await expected.live(commands, cuts: [], drains: true)
        let pipeline = try VirtualPipeline(Self.file(), log: Self.tiny, time: Self.hurried())
        let places = (1...3).map { $0 * commands.count / 4 }
        for (start, end) in zip([0] + places, places + [commands.count]) {
            let cuts = (0..<100).map { _ in 1 + random.below(30) }
            let piece = Array(commands[start..<end])
            try await pipeline.live(piece, cuts: cuts, drains: end == commands.count) { pipeline in
                guard start == places[1] else { return }
                for host in pipeline.hosts { try await host.wait(for: "the log's beginning to go") { $0.first > 1 } }
            }
        }
        #expect(pipeline.pushes == expected.pushes)
        for log in VirtualPipeline.logs {
            let first = try pipeline.first(of: log)
            #expect(first > 1, "\(log)")
            let snapshots = try pipeline.snapshots(of: log).list().compactMap(\.header)
            #expect(snapshots.allSatisfy { max($0.sequence, 1) >= first }, "\(log)")
        }
        try Self.checkNeeds(of: pipeline)
    }

    /// Every stage finds all that it may ask for, from its two newest snapshots on.
    private static func checkNeeds(of pipeline: VirtualPipeline) throws {
        for (upstream, log) in zip(VirtualPipeline.logs, VirtualPipeline.logs.dropFirst()) {
            let newest = try pipeline.snapshots(of: log).list().compactMap(\.header).suffix(2)
            let need = try #require(newest.first).position + 1
            #expect(try pipeline.first(of: upstream) <= need, "\(log) needs \(need) of \(upstream)")
        }
    }

    @Test func onlyWhatIsOldGoesByAge() async throws {
        let commands = Story(seed: 7, length: 600).commands
        let hours = Mutex(0)
        let time = HostTime(
            wall: { Instant.wall().advanced(by: .seconds(3_600 * hours.withLock { $0 })) },
            steady: Self.hurried().steady)
        let log = LogSettings(
            sync: .never, segmentBytes: 4_000, snapshotBytes: 1, retention: RetentionSettings(age: .seconds(1_800)))
        let pipeline = try VirtualPipeline(Self.file(window: "0s"), log: log, time: time, clock: .wall)
        for (start, end) in [(0, 300), (300, 400), (400, 500), (500, commands.count)] {
            try await pipeline.live(Array(commands[start..<end]), cuts: Self.cuts, drains: false) { pipeline in
                let match = try #require(pipeline.host("match"))
                try await match.wait(for: "its changes") { $0.taken >= UInt64(end) }
                // Each stop leaves a snapshot; the two newest are of young events now.
                guard start == 500 else { return }
                try await pipeline.source.wait(for: "the old changes to go") { $0.first > 200 }
            }
            guard start == 0 else { continue }
            for log in VirtualPipeline.logs { #expect(try pipeline.first(of: log) == 1, "\(log): nothing is old") }
            hours.withLock { $0 = 2 }
        }
        #expect(try pipeline.first(of: "changes") == 301, "the first young change")
        try Self.checkNeeds(of: pipeline)
    }

    @Test func aStageThatIsBehindHoldsWhatItHasNotTaken() async throws {
        let commands = Story(seed: 5, length: 600).commands
        let pipeline = try VirtualPipeline(Self.file(), log: Self.tiny, time: Self.hurried())
        let expected = try VirtualPipeline(Self.file())
        try await expected.live(commands, cuts: [], drains: true)
        // Coalesce is stopped for the second half; match goes on, and keeps all of its log that coalesce may ask for.
        try await pipeline.live(commands, cuts: Self.cuts, without: 2, drains: false) { pipeline in
            let match = try #require(pipeline.host("match"))
            try await match.wait(for: "all changes") { $0.taken >= UInt64(commands.count) }
        }
        #expect(try EventLogs.summary(directory: pipeline.folderOfLogs + "/matches").bytes > 24_000)
        try await pipeline.live([], cuts: [], drains: true)
        #expect(pipeline.pushes == expected.pushes)
    }

    @Test func aStageThatHasAnsweredNothingHoldsEverything() async throws {
        let commands = Story(seed: 6, length: 400).commands
        let twice = try PipelineFile.parse(
            """
            pipeline: retention
            data: /nowhere
            stages:
              ingest: {}
              match: {from: ingest}
              never: {from: ingest, command: [/bin/sleep, "600"]}
            """, file: "retention.yaml", registry: .builtIns)
        let pipeline = try VirtualPipeline(twice, log: Self.tiny, time: Self.hurried())
        try await pipeline.live(commands, cuts: Self.cuts, drains: false) { pipeline in
            let match = try #require(pipeline.host("match"))
            try await match.wait(for: "all changes") { $0.taken >= UInt64(commands.count) }
        }
        #expect(try pipeline.events(of: "changes").count == commands.count)
        #expect(try pipeline.first(of: "changes") == 1)
    }
}

extension VirtualPipeline {
    /// The first sequence that a log still has.
    func first(of log: String) throws -> UInt64 {
        try EventLogs.summary(directory: folderOfLogs + "/" + log).firstSequence
    }
}
