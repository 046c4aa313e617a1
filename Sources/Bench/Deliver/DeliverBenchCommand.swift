import ArgumentParser

struct DeliverBenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deliver",
        abstract: "Measures only the sending of pushes, over HTTP/2 and TLS to a server on this machine.",
        discussion: """
            The server is nghttpd, which answers every push with 200. The APNs transport, the load generator h2load and the \
            deliver stage send it requests with the same body, over one and four connections, and with 100 and 1,000 \
            streams for each connection. The deliver stage reads the pushes from a log and writes every outcome to its \
            own log. To measure the latency, the transport also sends pushes with one connection and 100 streams, at \
            half the rate that it has reached with them. It sends a group of pushes every 2 ms. The latency of a group \
            is the time from its planned start to its last answer.

            Needs the Debian packages nghttp2-server and nghttp2-client.

              belfry bench deliver
              belfry bench deliver --count 1000000 --runs 3 --json
            """)

    @Option(
        help: """
            How many pushes to send in each case. The transport on its own sends this number rounded down to a multiple \
            of 1000.
            """)
    var count = 200_000

    @OptionGroup var common: BenchOptions

    func validate() throws {
        guard (10_000...100_000_000).contains(count) else {
            throw ValidationError("--count takes a number from 10000 to 100000000, not \(count)")
        }
    }

    private static let shapes = [(1, 100), (1, 1_000), (4, 100), (4, 1_000)]

    func run() async throws {
        BuildKind.warnIfDebug()
        let bench = DeliverBench(count: count, interruption: .watch())
        var results: [DeliverBench.Result] = []
        for (connections, streams) in Self.shapes {
            let isFirst = results.isEmpty
            let runs = try await common.measure(by: \.ratio) {
                try await bench.run(
                    connections: connections, streams: streams, measuresLatency: isFirst, in: $0.path)
            }
            results.append(runs.median)
        }
        try common.print(DeliverBenchReport(results: results, count: count, runs: common.runs))
    }
}

struct DeliverBenchReport: BenchReport {
    let results: [DeliverBench.Result]
    let count: Int
    let runs: Int

    var lines: [String] {
        var table = TextTable("SENDING", "pushes/s", "h2load/s", "ratio", "µs CPU", "MB after 1/10", "MB after all")
        for result in results {
            table.add(
                "\(result.connections.of("connection")), \(result.streams.grouped) streams",
                result.perSecond.text(decimals: 0), result.h2load.text(decimals: 0),
                result.ratio.text(decimals: 2), result.cpuMicroseconds.text(decimals: 2),
                (result.bytesAtFirstTenth / 1e6).text(decimals: 1), (result.bytesAtEnd / 1e6).text(decimals: 1))
            table.add(
                "  through the deliver stage", result.stage.perSecond.text(decimals: 0),
                result.h2load.text(decimals: 0), result.stageRatio.text(decimals: 2),
                result.stage.cpuMicroseconds.text(decimals: 2), "", "")
        }
        let latency =
            results.compactMap(\.latency).first.map { ["", "at half the pushes/s of the first row: \($0.text)"] } ?? []
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
                results.map { result in
                    .object([
                        "connections": .count(result.connections), "streams": .count(result.streams),
                        "pushesPerSecond": .number(result.perSecond), "h2loadPerSecond": .number(result.h2load),
                        "ratioToH2load": .number(result.ratio),
                        "cpuMicrosecondsPerPush": .number(result.cpuMicroseconds),
                        "bytesAtFirstTenth": .number(result.bytesAtFirstTenth),
                        "bytesAtEnd": .number(result.bytesAtEnd), "bytesGained": .number(result.bytesGained),
                        "stagePushesPerSecond": .number(result.stage.perSecond),
                        "stageRatioToH2load": .number(result.stageRatio),
                        "stageCPUMicrosecondsPerPush": .number(result.stage.cpuMicroseconds),
                    ])
                }),
            "latencyMilliseconds": results.compactMap(\.latency).first?.report ?? .object([]),
        ])
    }
}
