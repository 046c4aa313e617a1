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

/// Tests that retention removes only old segments that no stage needs.
@Suite(.serialized, .timeLimit(.minutes(5))) struct RetentionOfLogs {
    private static func file(window: String = "1s, maximumDelay: 3s") throws -> PipelineFile {
        try PipelineFile.fiveStages(coalesce: "window: \(window)")
    }

    private static let tiny = LogSettings(
        sync: .never, segmentBytes: 4_000, snapshotBytes: 1, retention: RetentionSettings(bytes: 12_000))

    /// A monotonic clock that is 20 times faster, so that retention runs more often.
    private static func fastTime() -> HostTime {
        let start = ContinuousClock.now
        return HostTime(monotonicNow: { start + (ContinuousClock.now - start) * 20 })
    }

    private static let batchSizes = Array(repeating: 10, count: 100)

    @Test func `retention changes no push`() async throws {
        var random = Seeded(Seeded.ofThisRun)
        let commands = Workload(seed: random.next(), length: Tier.value(600, full: 1_200), records: 1).commands
        let expected = try VirtualPipeline(Self.file())
        try await expected.run(commands, batchSizes: [], drains: true)
        let pipeline = try VirtualPipeline(Self.file(), log: Self.tiny, time: Self.fastTime())
        let places = (1...3).map { $0 * commands.count / 4 }
        for (start, end) in zip([0] + places, places + [commands.count]) {
            let batchSizes = (0..<100).map { _ in 1 + random.below(30) }
            let piece = Array(commands[start..<end])
            try await pipeline.run(piece, batchSizes: batchSizes, drains: end == commands.count) { pipeline in
                guard start == places[1] else { return }
                for host in pipeline.hosts {
                    try await host.wait(for: "its first segment to be removed") { $0.first > 1 }
                }
            }
        }
        #expect(pipeline.pushes == expected.pushes)
        for log in VirtualPipeline.logs {
            let first = try pipeline.first(of: log)
            #expect(first > 1, "\(log)")
            let snapshots = try pipeline.snapshots(of: log).list().compactMap(\.header)
            #expect(snapshots.allSatisfy { max($0.sequence, 1) >= first }, "\(log)")
        }
        try Self.checkRetainedEvents(of: pipeline)
    }

    /// Checks that each stage can still read all events after the older of its two newest snapshots.
    private static func checkRetainedEvents(of pipeline: VirtualPipeline) throws {
        for (upstream, log) in zip(VirtualPipeline.logs, VirtualPipeline.logs.dropFirst()) {
            let newest = try pipeline.snapshots(of: log).list().compactMap(\.header).suffix(2)
            let needed = try #require(newest.first).position + 1
            #expect(try pipeline.first(of: upstream) <= needed, "\(log) needs \(needed) of \(upstream)")
        }
    }

    @Test func `retention by age removes only old segments`() async throws {
        let commands = Workload(seed: 7, length: 600, records: 1).commands
        let hours = Mutex(0)
        let time = HostTime(
            wall: { Instant.wall().advanced(by: .seconds(3_600 * hours.withLock { $0 })) },
            monotonicNow: Self.fastTime().monotonicNow)
        let log = LogSettings(
            sync: .never, segmentBytes: 4_000, snapshotBytes: 1, retention: RetentionSettings(age: .seconds(1_800)))
        let pipeline = try VirtualPipeline(Self.file(window: "0s"), log: log, time: time, clock: .wall)
        for (start, end) in [(0, 300), (300, 400), (400, 500), (500, commands.count)] {
            try await pipeline.run(Array(commands[start..<end]), batchSizes: Self.batchSizes, drains: false) {
                pipeline in
                let match = try #require(pipeline.host("match"))
                try await match.wait(for: "its changes") { $0.taken >= UInt64(end) }
                // Each stop makes a snapshot. The two newest snapshots now include young events, so no stage needs the
                // old events.
                guard start == 500 else { return }
                try await pipeline.source.wait(for: "the old changes to be removed") { $0.first > 200 }
            }
            guard start == 0 else { continue }
            for log in VirtualPipeline.logs {
                #expect(try pipeline.first(of: log) == 1, "\(log): young events were removed")
            }
            hours.withLock { $0 = 2 }
        }
        #expect(try pipeline.first(of: "changes") == 301, "old changes were kept, or young changes were removed")
        try Self.checkRetainedEvents(of: pipeline)
    }

    @Test func `retention keeps the events that a stopped stage has not read`() async throws {
        let commands = Workload(seed: 5, length: 600).commands
        let pipeline = try VirtualPipeline(Self.file(), log: Self.tiny, time: Self.fastTime())
        let expected = try VirtualPipeline(Self.file())
        try await expected.run(commands, batchSizes: [], drains: true)
        // Coalesce is stopped during the second half. Match continues, and keeps the events that coalesce has not read.
        try await pipeline.run(
            commands, batchSizes: Self.batchSizes, stoppingStageAtHalf: 2, drains: false
        ) { pipeline in
            let match = try #require(pipeline.host("match"))
            try await match.wait(for: "all changes") { $0.taken >= UInt64(commands.count) }
        }
        #expect(try EventLogs.summary(directory: pipeline.folderOfLogs + "/matches").bytes > 24_000)
        try await pipeline.run([], batchSizes: [], drains: true)
        #expect(pipeline.pushes == expected.pushes)
    }

    private static func save(_ name: String, _ value: Int) -> String {
        #"{"type":"record.save","container":"iCloud.com.example.Notes","environment":"development","database":"public","#
            + #""record":{"recordName":"\#(name)","recordType":"Note","fields":{"v":{"value":\#(value)}}}}"#
    }

    @Test func `retention keeps the newest versions of live records`() async throws {
        let file = try PipelineFile.parse(
            "pipeline: retention\ndata: /nowhere\nstages: {ingest: {}}\n", file: "retention.yaml", registry: .builtIns)
        let pipeline = try VirtualPipeline(file, log: Self.tiny, time: Self.fastTime())
        // Event 41 saves a record that nobody saves again. Each run makes a segment.
        for start in stride(from: 0, to: 300, by: 10) {
            let names = (start..<(start + 10)).map { ($0 == 40 ? "old" : "r\($0 % 3)", $0) }
            try await pipeline.run(names.map(Self.save), batchSizes: [], drains: false) { pipeline in
                guard start == 290 else { return }
                try await pipeline.source.wait(for: "the events before event 41 to be removed") { $0.first == 41 }
            }
        }
        let delete =
            #"{"type":"record.delete","container":"iCloud.com.example.Notes","environment":"development","#
            + #""database":"public","record":{"recordName":"old"}}"#
        for start in stride(from: 0, to: 100, by: 10) {
            let saves = (start..<(start + 10)).map { Self.save("r\($0 % 3)", $0) }
            try await pipeline.run((start == 0 ? [delete] : []) + saves, batchSizes: [], drains: false) { pipeline in
                guard start == 90 else { return }
                try await pipeline.source.wait(for: "event 41 to be removed") { $0.first > 300 }
            }
            guard start == 0 else { continue }
            let deleted = try pipeline.events(of: "changes").first { $0.contains("record.delete") }
            #expect(deleted?.hasSuffix(#""before":{"v":{"value":40}},"recordType":"Note"}"#) == true)
        }
    }

    @Test func `retention keeps every event while a stage has read nothing`() async throws {
        let commands = Workload(seed: 6, length: 400).commands
        let file = try PipelineFile.parse(
            """
            pipeline: retention
            data: /nowhere
            stages:
              ingest: {}
              match: {from: ingest}
              never: {from: ingest, command: [/bin/sleep, "600"]}
            """, file: "retention.yaml", registry: .builtIns)
        let pipeline = try VirtualPipeline(file, log: Self.tiny, time: Self.fastTime())
        try await pipeline.run(commands, batchSizes: Self.batchSizes, drains: false) { pipeline in
            let match = try #require(pipeline.host("match"))
            try await match.wait(for: "all changes") { $0.taken >= UInt64(commands.count) }
        }
        #expect(try pipeline.events(of: "changes").count == commands.count)
        #expect(try pipeline.first(of: "changes") == 1)
    }
}

extension VirtualPipeline {
    /// The first sequence in a log.
    func first(of log: String) throws -> UInt64 {
        try EventLogs.summary(directory: folderOfLogs + "/" + log).firstSequence
    }
}
