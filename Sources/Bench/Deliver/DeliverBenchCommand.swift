import ArgumentParser

struct DeliverBenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deliver",
        abstract: "Measures the sending of pushes alone: over HTTP/2 and TLS to a server on this machine.",
        discussion: """
            The server is nghttpd, which answers every push with 200; beside the APNs transport, in the same run and \
            against the same server, h2load sends the same request. With one connection and four, 100 streams and \
            1,000. Then once more, with one connection and 100 streams, at half the rate, to see how long a push takes. \
            And all of them through the deliver stage too: from a log of pushes, until every outcome is in its own log.

            Needs the Debian packages nghttp2-server and nghttp2-client.

              belfry bench deliver
              belfry bench deliver --count 1000000 --runs 3 --json
            """)

    @Option(help: "How many pushes to send each time.")
    var count = 200_000

    @OptionGroup var common: BenchOptions

    func validate() throws {
        guard (10_000...100_000_000).contains(count) else {
            throw ValidationError("--count takes a number from 10000 to 100000000")
        }
    }

    private static let shapes = [(1, 100), (1, 1_000), (4, 100), (4, 1_000)]

    func run() async throws {
        BuildKind.warn()
        let bench = DeliverBench(count: count, interruption: .watch())
        var measures: [DeliverBench.Measure] = []
        for (connections, streams) in Self.shapes {
            var runs: [DeliverBench.Measure] = []
            for run in 0..<common.runs {
                let scratch = try ScratchFolder(in: common.folder)
                defer { scratch.finish() }
                runs.append(
                    try await bench.run(
                        connections: connections, streams: streams,
                        measuresLatency: measures.isEmpty && run == common.runs - 1, in: scratch.path))
            }
            guard var median = runs.median(by: \.ratio) else { return }
            median.latency = runs.last?.latency
            measures.append(median)
        }
        try common.print(DeliverBenchReport(measures: measures, count: count, runs: common.runs))
    }
}

/// The figures as a table for people and as JSON for programs.
struct DeliverBenchReport: BenchReport {
    let measures: [DeliverBench.Measure]
    let count: Int
    let runs: Int

    var lines: [String] {
        var table = TextTable("SENDING", "pushes/s", "h2load/s", "ratio", "µs CPU", "MB at 1/10", "at the end")
        for measure in measures {
            table.add(
                "\(measure.connections.of("connection")), \(measure.streams.grouped) streams",
                measure.perSecond.text(decimals: 0), measure.h2load.text(decimals: 0),
                measure.ratio.text(decimals: 2), measure.cpuMicroseconds.text(decimals: 2),
                (measure.bytesAtFirstTenth / 1e6).text(decimals: 1), (measure.bytesAtEnd / 1e6).text(decimals: 1))
            table.add(
                "  by the deliver stage", measure.stage.perSecond.text(decimals: 0),
                measure.h2load.text(decimals: 0), measure.stageRatio.text(decimals: 2),
                measure.stage.cpuMicroseconds.text(decimals: 2), "", "")
        }
        let latency = measures.compactMap(\.latency).first.map { ["", "at half the first rate: \($0.text)"] } ?? []
        return [
            "\(count.grouped) pushes of \(DeliverBenchPushes.payload.utf8.count) bytes over TLS to nghttpd, "
                + "\(runs.of("run")), \(BuildKind.word) build", "",
        ] + table.lines + latency
    }

    var json: ReportValue {
        .object([
            "bench": .text("deliver"), "build": .text(BuildKind.word), "runs": .count(runs), "pushes": .count(count),
            "payloadBytes": .count(DeliverBenchPushes.payload.utf8.count),
            "cases": .list(
                measures.map { measure in
                    .object([
                        "connections": .count(measure.connections), "streams": .count(measure.streams),
                        "pushesPerSecond": .number(measure.perSecond), "h2loadPerSecond": .number(measure.h2load),
                        "ratioToH2load": .number(measure.ratio),
                        "cpuMicrosecondsPerPush": .number(measure.cpuMicroseconds),
                        "bytesAtFirstTenth": .number(measure.bytesAtFirstTenth),
                        "bytesAtEnd": .number(measure.bytesAtEnd), "bytesGained": .number(measure.bytesGained),
                        "stagePushesPerSecond": .number(measure.stage.perSecond),
                        "stageRatioToH2load": .number(measure.stageRatio),
                        "stageCPUMicrosecondsPerPush": .number(measure.stage.cpuMicroseconds),
                    ])
                }),
            "latencyMilliseconds": measures.compactMap(\.latency).first?.report ?? .object([]),
        ])
    }
}
