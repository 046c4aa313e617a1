import ArgumentParser

struct LinkBenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "link",
        abstract: "Measures one hop: a log, the link, and the log at its other end.",
        discussion: """
            One end appends events of \(Workload.lineBytes) bytes to a log and publishes them, the other takes them, appends \
            them to its own log and grants credit, over ipc and over tcp on this machine; both logs under interval 50ms. \
            Beside each, in the same run, the same bytes from a PUSH socket to a PULL socket, without logs. Counts from \
            the first batch's arrival to the last one's. Each row is the median by ratio.

              belfry bench link
              belfry bench link --batch 64 --runs 5
            """)

    @Option(help: "How many events to send.")
    var events = 1_000_000

    @Option(help: "Events in a batch.")
    var batch = 256

    @OptionGroup var common: BenchOptions

    func validate() throws {
        guard (1...10_000).contains(batch) else { throw ValidationError("--batch takes a number from 1 to 10000") }
        guard (batch...1_000_000_000).contains(events) else {
            throw ValidationError("--events takes a number from one batch to 1000000000")
        }
    }

    func run() async throws {
        BuildKind.warn()
        let interruption = Interruption.watch()
        var medians: [LinkBench.Measure] = []
        for transport in ["ipc", "tcp"] {
            let runs = try await common.measure(by: \.ratio) {
                let bench = LinkBench(events: events, batch: batch, folder: $0.path, interruption: interruption)
                return try await bench.run(transport)
            }
            medians.append(runs.median)
        }
        try common.print(LinkReport(measures: medians, events: events, batch: batch, runs: common.runs))
    }
}

/// The link's numbers as a table for people and as JSON for programs.
struct LinkReport: BenchReport {
    let measures: [LinkBench.Measure]
    let events: Int
    let batch: Int
    let runs: Int

    var lines: [String] {
        var table = TextTable("LINK", "events/s", "MB/s", "PUSH to PULL", "link / plain")
        for measure in measures {
            table.add(
                measure.transport, measure.perSecond.text(decimals: 0),
                Workload.megabytes(measure.perSecond).text(decimals: 0),
                measure.baseline.text(decimals: 0), measure.ratio.text(decimals: 2))
        }
        let title = "\(events.of("event")) of \(Workload.lineBytes) bytes in batches of \(batch), \(runs.of("run"))"
        return [title, ""] + table.lines
    }

    var json: ReportValue {
        .object([
            "bench": .text("link"), "build": .text(BuildKind.word), "events": .count(events),
            "eventBytes": .count(Workload.lineBytes), "batch": .count(batch), "runs": .count(runs),
            "links": .list(
                measures.map {
                    .object([
                        "transport": .text($0.transport), "eventsPerSecond": .number($0.perSecond),
                        "megabytesPerSecond": .number(Workload.megabytes($0.perSecond)),
                        "baselineEventsPerSecond": .number($0.baseline), "ratio": .number($0.ratio),
                    ])
                }),
        ])
    }
}
