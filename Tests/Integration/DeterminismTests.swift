import PipelineKit
import PipelineRuntime
import TestSupport
import Testing

/// The same input makes the same events and pushes, with batches of any size and any number of restarts.
@Suite struct Determinism {
    private func uninterruptedRun(of commands: [String]) async throws -> VirtualPipeline {
        let pipeline = try VirtualPipeline(PipelineFile.fiveStages())
        try await pipeline.run(commands, batchSizes: [], drains: true)
        #expect(try pipeline.events(of: "changes").count == commands.count, "the workload has a rejected command")
        #expect(pipeline.pushes.count > commands.count / 10, "the workload leads to too few pushes")
        return pipeline
    }

    @Test func `the size of input batches changes no event in any log`() async throws {
        var random = Seeded(Seeded.ofThisRun)
        let commands = Workload(seed: random.next(), length: Tier.value(600, full: 1_500)).commands
        let expected = try await uninterruptedRun(of: commands)
        for longest in [1, 3, 40, 700] {
            let pipeline = try VirtualPipeline(PipelineFile.fiveStages())
            let batchSizes = (0..<commands.count).map { _ in 1 + random.below(longest) }
            try await pipeline.run(commands, batchSizes: batchSizes, drains: true)
            try expectSameLogs(pipeline, expected, "batches of up to \(longest) lines")
        }
    }

    @Test func `random restarts of all stages change no event in any log`() async throws {
        var random = Seeded(Seeded.ofThisRun)
        let commands = Workload(seed: random.next(), length: Tier.value(600, full: 1_500)).commands
        let expected = try await uninterruptedRun(of: commands)
        for stops in [1, 4, 16] {
            let pipeline = try VirtualPipeline(PipelineFile.fiveStages())
            let places = (0..<stops).map { _ in random.below(commands.count) }.sorted()
            for (start, end) in zip([0] + places, places) {
                try await pipeline.run(
                    Array(commands[start..<end]), batchSizes: [random.below(60)],
                    stoppingStageAtHalf: 1 + random.below(4), drains: false)
            }
            try await pipeline.run(Array(commands[(places.last ?? 0)...]), batchSizes: [], drains: true)
            try expectSameLogs(pipeline, expected, "\(stops) restarts at \(places)")
        }
    }

    /// Without a snapshot, a restarted stage reads its upstream's log from the beginning. It grants the usual
    /// credit.
    @Test(.timeLimit(.minutes(5))) func `a restarted stage reads a history that is larger than its credit`()
        async throws
    {
        let text = String(repeating: "x", count: 40_000)
        var commands = Array(Workload(seed: 1, length: 20).commands)
        let large = (0..<(LinkClient.creditDefault / 40_000 + 50)).map { number in
            """
            {"type":"record.save","container":"iCloud.com.example.Large","environment":"development",\
            "database":"public","record":{"recordName":"r\(number)","recordType":"Large",\
            "fields":{"text":{"value":"\(text)","type":"STRING"}}}}
            """
        }
        commands += large
        let expected = try VirtualPipeline(PipelineFile.fiveStages())
        try await expected.run(commands + large.suffix(2), batchSizes: [], drains: true)
        let log = LogSettings(sync: .never, snapshotBytes: nil)
        let pipeline = try VirtualPipeline(PipelineFile.fiveStages(), log: log)
        try await pipeline.run(commands, batchSizes: [], drains: true)
        try await pipeline.run(Array(large.suffix(2)), batchSizes: [], drains: true)
        #expect(try pipeline.events(of: "changes").count == commands.count + 2)
        #expect(pipeline.eventsIn("match") > UInt64(commands.count), "match did not read its history")
        #expect(pipeline.pushes == expected.pushes)
    }

    private func expectSameLogs(_ pipeline: VirtualPipeline, _ expected: VirtualPipeline, _ what: String) throws {
        for log in VirtualPipeline.logs {
            let (found, wanted) = (try pipeline.events(of: log), try expected.events(of: log))
            let index = zip(found, wanted).enumerated().first { $1.0 != $1.1 }?.offset ?? min(found.count, wanted.count)
            guard found != wanted else { continue }
            Issue.record(
                """
                \(what): \(log) differs from event \(index + 1) on, \(found.count) events instead of \(wanted.count)
                found:  \(found.dropFirst(index).first ?? "the end")
                wanted: \(wanted.dropFirst(index).first ?? "the end")
                """)
            return
        }
        #expect(pipeline.pushes == expected.pushes, "\(what)")
    }
}
