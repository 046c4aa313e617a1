import EventLog
import Time

/// The settings of a run of `belfry bench pipeline`.
struct PipelineBenchOptions: Sendable {
    var changes: UInt64 = 1_000_000
    /// How many changes to send each second; nil to send them as fast as the stages read them.
    var rate: Int?
    var subscriptions = 10_000
    var records = 100_000
    /// How many devices to register, one for each user. Every user with subscriptions gets a device, even if there are
    /// more of these users than this number.
    var devices = 0
    /// The setting `snapshotBytes` of the pipeline file; nil for the default.
    var snapshotBytes: String?
    var sync = "interval 50ms"
    /// The NATS servers that keep the logs; empty for local files.
    var servers: [String] = []
    var replicas = 3
    var lanes = 1
    var seed: UInt64 = 1
}

/// One run: new stage processes with empty logs process one workload.
struct PipelineBench: Sendable {
    let options: PipelineBenchOptions
    let interruption: Interruption

    func run(in scratch: ScratchFolder) async throws -> PipelineResult {
        let home = options.servers.isEmpty ? nil : BenchHome(servers: options.servers, replicas: options.replicas)
        let file = PipelineBenchFile(
            folder: scratch.path, sync: options.sync, snapshotBytes: options.snapshotBytes, lanes: options.lanes,
            home: home)
        let checked = try file.make()
        let outcomes = checked.file.stages.filter { $0.writes == .outcomes }.map(\.logName)
        let stages = try StageProcesses(checked)
        let (record, workload) = try await stages.whileRunning(interruption) { pids in
            let driver = try PipelineDriver(options, stages, pids, interruption)
            try driver.run(outcomes: outcomes.map { file.logs + "/" + $0 })
            return (driver.record, driver.workload)
        }
        let pushes = try file.pushes.reduce(0) { $0 + (try TextFile.lineCount(of: $1)) }
        let reading = try LatencyReading(logs: file.logs, outcomes: outcomes)
        let logs = checked.file.stagesInOrder.map(\.logName)
        let snapshots = try SnapshotTimes(logs: file.logs, logs, from: record.firstSend, to: record.end)
        try home?.removeStreams(of: logs)
        let homeResult = try home.map { try measure($0, logs, in: file.logs, changes: workload.made) }
        return PipelineResult(
            changes: workload.made, expected: workload.watched, pushes: pushes, outcomes: reading.outcomes,
            sendSeconds: (record.allAnswered - record.firstSend) / .seconds(1),
            seconds: (reading.last - record.firstSend) / .seconds(1),
            latency: Percentiles(reading.latencies),
            snapshots: SnapshotLatencies(reading, snapshots, from: record.firstSend),
            stages: stageResults(stages.plans.map(\.stage), record, snapshots), driver: record.driver,
            home: homeResult)
    }

    private func measure(
        _ home: BenchHome, _ logs: [String], in folder: String, changes: UInt64
    ) throws -> BenchHomeResult {
        let bytes = try logs.reduce(0) { $0 + (try EventLogs.summary(directory: "\(folder)/\($1)").bytes) }
        let bench = HomeBench(
            events: 400_000, folder: folder, servers: home.servers, replicas: home.replicas, interruption: interruption)
        let bare = try bench.measureBare()
        return BenchHomeResult(
            bytesPerChange: Double(bytes) / Double(changes), bareBytesPerSecond: bare.bytesPerSecond,
            publish: bare.publish)
    }

    private func stageResults(
        _ names: [String], _ record: PipelineDriver.Record, _ snapshots: SnapshotTimes
    ) -> [PipelineResult.Stage] {
        names.indices.map {
            PipelineResult.Stage(
                name: names[$0], use: record.use[$0], halfwayBytes: record.halfway[$0].residentBytes,
                snapshots: snapshots.counts[$0], pausesBefore: record.pausesBefore[$0], pauses: record.pauses[$0])
        }
    }
}

/// The result of one run.
struct PipelineResult: Sendable {
    struct Stage: Sendable {
        var name: String
        var use: ProcessUse
        /// Resident bytes when half of the changes were sent.
        var halfwayBytes: UInt64
        /// The number of snapshots since the first change was sent, without the snapshot that a stage makes when it
        /// stops, and without the snapshots that the stage has removed because it had many.
        var snapshots: Int
        /// The longest pause for each cause before the first change was sent.
        var pausesBefore: [StagePause]
        /// The longest pause for each cause since the first change was sent.
        var pauses: [StagePause]
    }

    var changes: UInt64
    /// The number of pushes that the workload leads to.
    var expected: UInt64
    /// The number of pushes that the file transport wrote.
    var pushes: UInt64
    var outcomes: UInt64
    /// The time from the sending of the first change until ingest had answered all changes.
    var sendSeconds: Double
    /// The time from the sending of the first change to the last outcome.
    var seconds: Double
    var latency: Percentiles
    var snapshots: SnapshotLatencies
    var stages: [Stage]
    var driver: ProcessUse?
    /// Nil for local files.
    var home: BenchHomeResult?

    var perSecond: Double { seconds > 0 ? Double(changes) / seconds : 0 }
    var isRight: Bool { pushes == expected && outcomes == expected }
}
