import EventLog
import PipelineKit
import PipelineRuntime
import TestSupport
import Testing

/// A disk that is full for a while delays the pipeline but changes no event. Deliver may send some pushes twice.
@Suite(.serialized) struct DiskFull {
    @Test(.timeLimit(.minutes(5)), arguments: Tier.some(of: [30, 200]))
    func `shortages of disk space at random writes change no event in any log`(every: Int) async throws {
        var random = Seeded(Seeded.ofThisRun)
        let commands = Workload(seed: random.next(), length: 800).commands
        let expected = try VirtualPipeline(PipelineFile.fiveStages())
        try await expected.run(commands, batchSizes: [], drains: true)
        let disk = FlakyDisk(seed: random.next(), every: every, shortagesMax: 25)
        let log = LogSettings(sync: .never, segmentBytes: 20_000, snapshotBytes: 10_000)
        let pipeline = try VirtualPipeline(PipelineFile.fiveStages(), log: log, calls: disk.calls, partBytes: 1)
        let half = commands.count / 2
        let batchSizes = (0..<100).map { _ in 1 + random.below(40) }
        let turnShortagesOn: @Sendable (PipelineProcess) async -> Void = { _ in disk.turnShortages(on: true) }
        try await pipeline.run(
            Array(commands[..<half]), batchSizes: batchSizes, stoppingStageAtHalf: 1 + random.below(4), drains: false,
            meanwhile: turnShortagesOn)
        disk.turnShortages(on: false)
        try await pipeline.run(
            Array(commands[half...]), batchSizes: batchSizes, drains: true, meanwhile: turnShortagesOn)
        #expect(disk.shortages > 0)
        for name in VirtualPipeline.logs {
            #expect(try pipeline.events(of: name) == expected.events(of: name), "\(name)")
            #expect(try EventLogs.verify(directory: pipeline.folder.path + "/logs/" + name).isSound)
        }
        // When deliver stops while the disk is full, it cannot record the answers to some pushes, so it sends these
        // pushes again after its restart.
        var seen: Set<String> = []
        let unique = pipeline.pushes.filter { seen.insert($0).inserted }
        #expect(unique.elementsEqual(expected.pushes), "\(unique.count) pushes, not \(expected.pushes.count)")
    }

    @Test(.timeLimit(.minutes(5))) func `a stage reports that its disk is full, and continues when there is room`()
        async throws
    {
        let commands = Workload(seed: 8, length: 60).commands
        let disk = FillableDisk()
        let pipeline = try VirtualPipeline(PipelineFile.fiveStages(), calls: disk.calls)
        try await pipeline.run([], batchSizes: [], drains: false)
        disk.isFull = true
        try await pipeline.run(
            commands, batchSizes: [], drains: false,
            meanwhile: { pipeline in
                try await pipeline.source.wait(for: "a full disk") { $0.phase == .diskFull }
                let report = pipeline.source.control.report
                #expect(
                    report.shortage?.file.contains("/logs/changes/") == true && (report.shortage?.bytesNeeded ?? 0) > 0)
                #expect(report.last == 0, "an event was appended")
                disk.isFull = false
            })
        #expect(try pipeline.events(of: "changes").count == commands.count)
    }
}
