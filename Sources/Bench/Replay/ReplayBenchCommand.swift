import ArgumentParser

struct ReplayBenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Measures how fast recorded logs are re-run.",
        discussion: """
            Drives the five stages as `belfry bench pipeline` does, then replays the logs that they left: match alone, and \
            the whole pipeline, on two threads, every event compared with its log. Beside them: one reading of the \
            five logs with every CRC checked, and a scan that copies each byte once. Rates are changes a second. The run \
            in the middle by the ratio of whole replay to live pipeline is reported.

              belfry bench replay
              belfry bench replay --changes 2000000 --runs 3
            """)

    @Option(help: "How many changes to send.")
    var changes: UInt64 = 500_000

    @OptionGroup var users: SubscriptionsOption

    @OptionGroup var common: BenchOptions

    func validate() throws {
        if changes == 0 { throw ValidationError("--changes takes a number from 1 on") }
    }

    func run() async throws {
        BuildKind.warn()
        let bench = ReplayBench(
            options: PipelineBenchOptions(changes: changes, subscriptions: users.subscriptions), interruption: .watch())
        let runs = try await common.measure(by: \.ratio) { try await bench.run(in: $0) }
        try common.print(ReplayBenchReport(measure: runs.median, runs: common.runs), ofRuns: runs.all.map(\.whole))
    }
}

/// The replay's numbers as a table for people and as JSON for programs.
struct ReplayBenchReport: BenchReport {
    let measure: ReplayMeasure
    let runs: Int

    var lines: [String] {
        var table = TextTable("RATE", "changes/s", "of live")
        for (name, rate) in [
            ("live pipeline", measure.live), ("replay of match", measure.match),
            ("replay of all stages", measure.whole),
        ] { table.add(name, rate.text(decimals: 0), (rate / measure.live).text(decimals: 2)) }
        let megabytes = Double(measure.logBytes) / 1e6
        return [
            "\(measure.changes.of("change")), \(byteText(measure.logBytes)) of logs, \(runs.of("run")), \(BuildKind.word) build",
            "",
        ] + table.lines + [
            "",
            "the logs read once with CRC: \((megabytes / measure.readSeconds).text(decimals: 0)) MB/s; copied once: "
                + "\((megabytes / measure.scanSeconds).text(decimals: 0)) MB/s",
        ]
    }

    var json: ReportValue {
        .object([
            "bench": .text("replay"), "build": .text(BuildKind.word), "runs": .count(runs),
            "changes": .number(Double(measure.changes)), "logBytes": .number(Double(measure.logBytes)),
            "liveChangesPerSecond": .number(measure.live), "matchChangesPerSecond": .number(measure.match),
            "replayChangesPerSecond": .number(measure.whole), "ratio": .number(measure.ratio),
            "readMegabytesPerSecond": .number(Double(measure.logBytes) / 1e6 / measure.readSeconds),
            "scanMegabytesPerSecond": .number(Double(measure.logBytes) / 1e6 / measure.scanSeconds),
        ])
    }
}
