import BuiltIns
import EventLog
import Foundation
import PipelineRuntime
import Replay

/// Runs a pipeline once, then replays its stages over the logs that it wrote.
struct ReplayBench: Sendable {
    let options: PipelineBenchOptions
    let interruption: Interruption

    func run(in scratch: ScratchFolder) async throws -> ReplayResult {
        let live = try await PipelineBench(options: options, interruption: interruption).run(in: scratch)
        guard live.isRight else {
            throw ToolFailure(
                .no,
                "the live pipeline made \(live.pushes.of("push")) and \(live.outcomes.of("outcome")), expected "
                    + "\(live.expected.grouped) of each: its logs are not replayed")
        }
        let file = PipelineBenchFile(folder: scratch.path, sync: options.sync)
        let recorded = try RecordedPipeline(file.read().file, logs: file.logs)
        let match = try await replay(recorded, ["match"])
        let whole = try await replay(recorded, nil)
        let changes = Double(live.changes)
        let (read, scan) = (try seconds { try readAll(recorded) }, try seconds { try scanAll(recorded) })
        return ReplayResult(
            changes: live.changes, live: live.perSecond, match: changes / match, whole: changes / whole,
            logBytes: recorded.stages.reduce(0) { $0 + $1.log.bytes }, readSeconds: read, scanSeconds: scan)
    }

    private func replay(_ recorded: RecordedPipeline, _ stages: [String]?) async throws -> Double {
        try interruption.check()
        let replay = PipelineReplay(recorded, MachineFactory(registry: .builtIns), stages: stages)
        let start = ContinuousClock.now
        let results = try await replay.run()
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        if let difference = results.lazy.compactMap(\.difference).first {
            throw ToolFailure(
                .no, "the replay of \(difference.stage) differs at \(difference.log) \(difference.sequence)")
        }
        return seconds
    }

    private func readAll(_ recorded: RecordedPipeline) throws {
        for stage in recorded.stages {
            let reader = try EventLogReader(directory: stage.log.directory, from: .beginning)
            while try reader.next() != nil {}
        }
    }

    private func scanAll(_ recorded: RecordedPipeline) throws {
        for stage in recorded.stages {
            for name in try FileManager.default.contentsOfDirectory(atPath: stage.log.directory)
            where name.hasSuffix(".log") {
                _ = try PlainFile.scan(stage.log.directory + "/" + name)
            }
        }
    }
}

/// The result of one run. Rates are changes a second.
struct ReplayResult: Sendable {
    var changes: UInt64
    var live: Double
    var match: Double
    var whole: Double
    /// The size of all five logs.
    var logBytes: UInt64
    /// The time to read the logs once and to check every CRC.
    var readSeconds: Double
    /// The time to read the files of the logs once and to copy each byte.
    var scanSeconds: Double

    var ratio: Double { whole / live }
}
