import ArgumentParser

struct RestartBenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restart",
        abstract: "Measures how long stages take to be ready again, with a history behind them.",
        discussion: """
            Fills the logs of five stage processes with the workload of `belfry bench pipeline`, stops them, and starts \
            them again: once from their snapshots, and once more with the snapshots removed, from the whole history. A \
            stage is ready when it is running and has taken in all that its upstream has. The state has the same size \
            whatever the number of changes, so only the history grows.

              belfry bench restart --events 1000000
              belfry bench restart --events 10000000 --json | jq .slowestSeconds
            """)

    @Option(help: "How many changes to send before.")
    var events: UInt64 = 1_000_000

    @OptionGroup var users: SubscriptionsOption

    @OptionGroup var disk: SyncOption

    @OptionGroup var common: BenchOptions

    @Flag(help: "Keep the folder with the pipeline file and the logs, and say where it is.")
    var keep = false

    func validate() throws {
        if events == 0 { throw ValidationError("--events takes a number from 1 on") }
    }

    func run() async throws {
        BuildKind.warn()
        let options = PipelineBenchOptions(changes: events, subscriptions: users.subscriptions, sync: disk.sync)
        let bench = RestartBench(options: options, interruption: .watch())
        let runs = try await common.measure(by: \.slowest, keepsFolder: keep) { try await bench.run(in: $0) }
        try common.print(RestartReport(options: options, measure: runs.median), ofRuns: runs.all.map(\.slowest))
    }
}

/// A run as a table for people and as JSON for programs.
struct RestartReport: BenchReport {
    let options: PipelineBenchOptions
    let measure: RestartMeasure

    var lines: [String] {
        var table = TextTable("STAGE", "EVENTS", "LOG", "from a snapshot", "from the whole history")
        for stage in measure.stages {
            table.add(
                stage.name, stage.events.grouped, byteText(stage.bytes), "\(stage.fromSnapshot.text(decimals: 2)) s",
                "\(stage.fromHistory.text(decimals: 2)) s")
        }
        return [
            "\(measure.changes.of("change")), \(options.subscriptions.of("subscription")), \(BuildKind.word) build", "",
        ] + table.lines
    }

    var json: ReportValue {
        .object([
            "bench": .text("restart"), "build": .text(BuildKind.word), "changes": .count(measure.changes),
            "subscriptions": .count(options.subscriptions), "slowestSeconds": .number(measure.slowest),
            "stages": .list(
                measure.stages.map {
                    .object([
                        "stage": .text($0.name), "events": .count($0.events), "bytes": .count($0.bytes),
                        "snapshotSeconds": .number($0.fromSnapshot), "historySeconds": .number($0.fromHistory),
                    ])
                }),
        ])
    }
}
