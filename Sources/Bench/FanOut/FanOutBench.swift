/// What is to be measured.
struct FanOutBenchOptions: Sendable {
    var watchers = 100_000
    /// Other changes a second.
    var rate = 2_000
    /// How long the others come before the one that all watch, and again from it on.
    var seconds = 5
    var sync = "interval 50ms"
}

/// One run: five new stage processes over empty logs.
struct FanOutBench: Sendable {
    let options: FanOutBenchOptions
    let interruption: Interruption

    func run(in scratch: ScratchFolder) async throws -> FanOutMeasure {
        let file = PipelineBenchFile(folder: scratch.path, sync: options.sync)
        let checked = try file.make()
        let stages = try StageProcesses(checked)
        let drive = try await stages.whileRunning(interruption) { pids in
            let drive = try FanOutDrive(options, stages, pids, interruption)
            try drive.run(logs: file.logs)
            return drive.result
        }
        let reading = try FanOutReading(logs: file.logs, of: drive.sequence)
        return FanOutMeasure(
            firstMatch: drive.firstMatch, lastMatch: drive.lastMatch, firstPush: reading.first, lastPush: reading.last,
            undisturbed: Percentiles(reading.before), heldUp: Percentiles(reading.during),
            stages: zip(stages.plans, zip(drive.before, drive.after)).map {
                FanOutMeasure.Stage(
                    name: $0.stage, seconds: $1.1.since($1.0).seconds, residentBefore: $1.0.residentBytes,
                    peak: $1.1.peakBytes)
            },
            expected: UInt64(options.watchers) + drive.others, pushes: try TextFile.lineCount(of: file.pushes),
            outcomes: reading.outcomes)
    }
}

/// What one run came to. Times are milliseconds from the acceptance of the one change.
struct FanOutMeasure: Sendable {
    struct Stage: Sendable {
        var name: String
        /// Of the processor's time, since the change was sent.
        var seconds: Double
        var residentBefore: UInt64
        /// Since the change was sent.
        var peak: UInt64
    }

    var firstMatch: Double
    var lastMatch: Double
    var firstPush: Double
    var lastPush: Double
    /// Other changes, from ingest to push.
    var undisturbed: Percentiles
    var heldUp: Percentiles
    var stages: [Stage]
    var expected: UInt64
    var pushes: UInt64
    var outcomes: UInt64

    var isRight: Bool { pushes == expected && outcomes == expected }
}
