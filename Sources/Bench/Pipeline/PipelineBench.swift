import Time

/// What is to be measured.
struct PipelineBenchOptions: Sendable {
    var changes: UInt64 = 1_000_000
    /// Changes a second; nil as fast as they are taken.
    var rate: Int?
    var subscriptions = 10_000
    var records = 100_000
    /// Fewer than one for each user count as one for each.
    var devices = 0
    /// Input between two snapshots of a stage, as pipeline files take it; nil for their default.
    var snapshotBytes: String?
    var sync = "interval 50ms"
    var seed: UInt64 = 1
}

/// One run: five new stage processes over empty logs, one workload.
struct PipelineBench: Sendable {
    let options: PipelineBenchOptions
    let interruption: Interruption

    func run(in scratch: ScratchFolder) async throws -> PipelineMeasure {
        let file = PipelineBenchFile(
            folder: scratch.path, sync: options.sync, snapshotBytes: options.snapshotBytes)
        let checked = try file.make()
        let stages = try StageProcesses(checked)
        let (times, workload) = try await stages.whileRunning(interruption) { pids in
            let drive = try PipelineDrive(options, stages, pids, interruption)
            try drive.run(outcomes: file.logs + "/outcomes")
            return (drive.times, drive.workload)
        }
        let pushes = try TextFile.lineCount(of: file.pushes)
        let reading = try LatencyReading(logs: file.logs)
        let logs = checked.file.stagesInOrder.map(\.logName)
        let snapshots = try SnapshotTimes(logs: file.logs, logs, from: times.firstSend, to: times.end)
        return PipelineMeasure(
            changes: workload.made, expected: workload.watched, pushes: pushes, outcomes: reading.outcomes,
            sendSeconds: seconds(times.firstSend, times.lastSend), seconds: seconds(times.firstSend, reading.last),
            latency: Percentiles(reading.latencies),
            snapshots: SnapshotLatencies(reading, snapshots, from: times.firstSend),
            stages: use(stages.plans.map(\.stage), times, snapshots), driver: times.driver)
    }

    private func use(
        _ names: [String], _ times: PipelineDrive.Times, _ snapshots: SnapshotTimes
    ) -> [PipelineMeasure.Stage] {
        names.indices.map {
            PipelineMeasure.Stage(
                name: names[$0], use: times.use[$0], halfway: times.halfway[$0].residentBytes,
                snapshots: snapshots.counts[$0], pausesBefore: times.pausesBefore[$0], pauses: times.pauses[$0])
        }
    }

    private func seconds(_ start: Instant, _ end: Instant) -> Double {
        Double(end.microseconds - start.microseconds) / 1e6
    }
}

/// What one run came to.
struct PipelineMeasure: Sendable {
    struct Stage: Sendable {
        var name: String
        var use: ProcessUse
        /// Resident when half of the changes were sent.
        var halfway: UInt64
        /// How many it made since the first send, but the last at the stop.
        var snapshots: Int
        /// The longest for each cause, before the first send and from then on.
        var pausesBefore: [StagePause]
        var pauses: [StagePause]
    }

    var changes: UInt64
    var expected: UInt64
    /// Lines that the file transport wrote.
    var pushes: UInt64
    var outcomes: UInt64
    var sendSeconds: Double
    /// From the first send to the last outcome.
    var seconds: Double
    var latency: Percentiles
    var snapshots: SnapshotLatencies
    var stages: [Stage]
    var driver: ProcessUse?

    var perSecond: Double { seconds > 0 ? Double(changes) / seconds : 0 }
    var isRight: Bool { pushes == expected && outcomes == expected }
}
