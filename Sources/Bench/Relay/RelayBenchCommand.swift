import ArgumentParser

struct RelayBenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "relay",
        abstract: "Measures five processes that only pass the same bytes on: the ceiling here.",
        discussion: """
            Sends the lines of `belfry bench pipeline` in messages of 64 and of 256 through five processes in a row, over \
            ipc (PUSH to PULL). Nothing is parsed, logged or copied by us. Counts from when the first message has passed \
            all five until the last one has. The median of the runs, by batch.

              belfry bench relay
              belfry bench relay --lines 4000000 --runs 5 --json
            """)

    @Option(help: "How many lines to send.")
    var lines = 1_000_000

    @OptionGroup var common: BenchOptions

    static let batches = [64, 256]

    func validate() throws {
        guard (256...1_000_000_000).contains(lines) else {
            throw ValidationError("--lines takes a number from 256 to 1000000000")
        }
    }

    func run() async throws {
        BuildKind.warn()
        let interruption = Interruption.watch()
        var medians: [RelayBench.Measure] = []
        for batch in RelayBenchCommand.batches {
            let bench = RelayBench(lines: lines, batch: batch, interruption: interruption)
            medians.append(try await common.measure(by: \.perSecond) { try await bench.run(in: $0.path) }.median)
        }
        try common.print(RelayReport(measures: medians, runs: common.runs))
    }
}

/// The relay's numbers as a table for people and as JSON for programs.
struct RelayReport: BenchReport {
    let measures: [RelayBench.Measure]
    let runs: Int

    var lines: [String] {
        var table = TextTable("BATCH", "lines", "s", "lines/s", "MB/s")
        for measure in measures {
            table.add(
                measure.batch.grouped, measure.lines.grouped, measure.seconds.text(decimals: 2),
                measure.perSecond.text(decimals: 0), Workload.megabytes(measure.perSecond).text(decimals: 0))
        }
        return ["five processes pass lines of \(Workload.lineBytes) bytes on, \(runs.of("run"))", ""] + table.lines
    }

    var json: ReportValue {
        .object([
            "bench": .text("relay"), "build": .text(BuildKind.word), "lineBytes": .count(Workload.lineBytes),
            "processes": .count(5), "runs": .count(runs),
            "batches": .list(
                measures.map {
                    .object([
                        "batch": .count($0.batch), "lines": .count($0.lines), "seconds": .number($0.seconds),
                        "linesPerSecond": .number($0.perSecond),
                    ])
                }),
        ])
    }
}
