import EventLog
import Foundation
import PipelineRuntime
import ZeroMQ

/// Fills the logs of five stage processes, stops them, and measures how long each takes to be ready again.
struct RestartBench: Sendable {
    let options: PipelineBenchOptions
    let interruption: Interruption

    func run(in scratch: ScratchFolder) async throws -> RestartMeasure {
        let file = PipelineBenchFile(folder: scratch.path, sync: options.sync)
        let checked = try file.make()
        try await fill(checked, file)
        let logs = try StageProcesses(checked).plans.map {
            try EventLogs.summary(directory: "\($0.logsDirectory)/\($0.logName)")
        }
        let fromSnapshots = try await start(checked, logs)
        for log in logs { try FileManager.default.removeItem(atPath: log.directory + "/snapshots") }
        let fromHistory = try await start(checked, logs)
        let stages = logs.indices.map { index in
            RestartMeasure.Stage(
                name: checked.file.stagesInOrder[index].name, events: logs[index].lastSequence,
                bytes: logs[index].bytes, fromSnapshot: fromSnapshots[index], fromHistory: fromHistory[index])
        }
        return RestartMeasure(changes: options.changes, stages: stages)
    }

    private func fill(_ checked: CheckedPipeline, _ file: PipelineBenchFile) async throws {
        let stages = try StageProcesses(checked)
        try await stages.whileRunning(interruption) { pids in
            try PipelineDrive(options, stages, pids, interruption).run(outcomes: file.logs + "/outcomes")
        }
    }

    private func start(_ checked: CheckedPipeline, _ logs: [LogSummary]) async throws -> [Double] {
        try await StageProcesses(checked).secondsUntilReady(having: logs.map(\.lastSequence), interruption)
    }
}

/// What one run came to. Times are from the start of the process, its own start included.
struct RestartMeasure: Sendable {
    struct Stage: Sendable {
        var name: String
        var events: UInt64
        var bytes: UInt64
        var fromSnapshot: Double
        var fromHistory: Double
    }

    var changes: UInt64
    var stages: [Stage]
    var slowest: Double { stages.map(\.fromSnapshot).max() ?? 0 }
}

extension StageProcesses {
    /// Starts all stages at once and stops them when all are ready.
    ///
    /// - Parameter lasts: The last sequence of each stage's log: a stage is ready when it has taken in its upstream's.
    /// - Returns: How long each took.
    func secondsUntilReady(having lasts: [UInt64], _ interruption: Interruption) async throws -> [Double] {
        let started = ContinuousClock.now
        return try await whileRunning(interruption, untilReady: false) { [self] _ in
            let probes = try plans.map { try StageProbe($0, context, patience: .milliseconds(20)) }
            var seconds = [Double?](repeating: nil, count: plans.count)
            while seconds.contains(nil) {
                for index in plans.indices where seconds[index] == nil {
                    try interruption.check()
                    try check()
                    guard let positions = try probes[index].positions(), positions.isRunning,
                        index == 0 || positions.taken >= lasts[index - 1]
                    else { continue }
                    seconds[index] = (ContinuousClock.now - started) / .seconds(1)
                }
            }
            return seconds.compactMap { $0 }
        }
    }
}
