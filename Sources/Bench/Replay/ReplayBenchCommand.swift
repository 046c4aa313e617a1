import ArgumentParser

struct ReplayBenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Measures how fast recorded logs are replayed.",
        discussion: """
            Runs the five stages as `belfry bench pipeline` does, then replays their logs on two threads: first only \
            match, then all stages. The log of ingest is only read; the events of all other stages are compared with \
            their logs. The bench also reads the five logs once and checks every CRC, and reads their files once and \
            copies each byte. Of several runs, the report shows the run whose replay of all stages has the median rate.

              belfry bench replay
              belfry bench replay --changes 2000000 --runs 3
            """)

    @Option(help: "How many changes to send.")
    var changes: UInt64 = 500_000

    @OptionGroup var subscriptionsOption: SubscriptionsOption

    @OptionGroup var common: BenchOptions

    func validate() throws {
        if changes == 0 { throw ValidationError("--changes takes a number from 1 on, not 0") }
    }

    func run() async throws {
        BuildKind.warnIfDebug()
        let bench = ReplayBench(
            options: PipelineBenchOptions(changes: changes, subscriptions: subscriptionsOption.subscriptions),
            interruption: .watch())
        let runs = try await common.measure(by: \.whole) { try await bench.run(in: $0) }
        try common.print(ReplayBenchReport(result: runs.median, runs: common.runs), ofRuns: runs.all.map(\.whole))
    }
}

struct ReplayBenchReport: BenchReport {
    let result: ReplayResult
    let runs: Int

    var lines: [String] {
        var table = TextTable("RATE", "changes/s", "of live")
        for (name, rate) in [
            ("live pipeline", result.live), ("replay of match", result.match),
            ("replay of all stages", result.whole),
        ] { table.add(name, rate.text(decimals: 0), (rate / result.live).text(decimals: 2)) }
        let megabytes = Double(result.logBytes) / 1e6
        return [
            "\(result.changes.of("change")), \(byteText(result.logBytes)) of logs, \(runs.of("run")), \(BuildKind.word) build",
            "",
        ] + table.lines + [
            "",
            "logs read and CRCs checked: \((megabytes / result.readSeconds).text(decimals: 0)) MB/s; files read and copied: "
                + "\((megabytes / result.scanSeconds).text(decimals: 0)) MB/s",
        ]
    }

    var json: ReportValue {
        .object([
            "bench": .text("replay"), "build": .text(BuildKind.word), "runs": .count(runs),
            "changes": .number(Double(result.changes)), "logBytes": .number(Double(result.logBytes)),
            "liveChangesPerSecond": .number(result.live), "matchChangesPerSecond": .number(result.match),
            "replayChangesPerSecond": .number(result.whole), "ratio": .number(result.ratio),
            "readMegabytesPerSecond": .number(Double(result.logBytes) / 1e6 / result.readSeconds),
            "scanMegabytesPerSecond": .number(Double(result.logBytes) / 1e6 / result.scanSeconds),
        ])
    }
}
