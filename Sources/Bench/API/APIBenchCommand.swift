import ArgumentParser

struct APIBenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "api",
        abstract: "Measures the gateway for CloudKit Web Services over HTTP.",
        discussion: """
            Starts ingest and the gateway as processes, with a log on the disk, and sends requests with the load \
            generator h2load over HTTP/1.1 connections that stay open: a lookup and a query among many records, and \
            writes that create 1, 10 and 200 records. The query is measured after the gateway has made \
            the indexes for it. A write is answered when its events are in ingest's log and in the gateway's store. \
            The bench checks that ingest's log gains one event for each record that these writes create. The baseline \
            is a bare Hummingbird server that answers a constant. Load generator, gateway and ingest share the \
            machine's cores.

            Needs the Debian package nghttp2-client.

              belfry bench api
              belfry bench api --connections 128 --sync always --json
              belfry bench api --records 1000000 --connections 1
            """)

    @Option(help: "How many requests of each kind to send; fewer if a request has 10 or 200 operations.")
    var requests = 20_000

    @Option(help: "How many connections to open. Each sends its next request after an answer.")
    var connections = 64

    @Option(help: "How many records to save first, rounded down to a multiple of 200.")
    var records = 10_000

    @Option(help: "The setting log.sync of the pipeline file.")
    var sync = "interval 50ms"

    @OptionGroup var common: BenchOptions

    func validate() throws {
        guard (1_000...100_000_000).contains(requests) else {
            throw ValidationError("--requests takes a number from 1000 to 100000000, not \(requests)")
        }
        guard (400...100_000_000).contains(records) else {
            throw ValidationError("--records takes a number from 400 to 100000000, not \(records)")
        }
        guard (1...1_000).contains(connections) else {
            throw ValidationError("--connections takes a number from 1 to 1000, not \(connections)")
        }
    }

    func run() async throws {
        BuildKind.warnIfDebug()
        let records = records / 200 * 200
        let bench = APIBench(
            requests: requests, connections: connections, records: records, sync: sync, interruption: .watch())
        let runs = try await common.measure(by: \.modify200PerSecond) { try await bench.run(in: $0.path) }
        try common.print(
            APIBenchReport(
                results: runs.median, connections: connections, records: records, sync: sync, runs: common.runs))
    }
}

struct APIBenchReport: BenchReport {
    let results: [APIBench.Result]
    let connections: Int
    let records: Int
    let sync: String
    let runs: Int

    var lines: [String] {
        var table = TextTable("REQUEST", "requests", "requests/s", "of constant", "operations/s", "p50", "p99")
        for result in results {
            let latency = result.load.latency
            table.add(
                result.request.rawValue, result.requests.grouped, result.load.perSecond.text(decimals: 0),
                ratio(result).text(decimals: 2), result.operationsPerSecond.text(decimals: 0),
                milliseconds(latency.p50), milliseconds(latency.p99))
        }
        return [
            "\(connections.of("connection")), \(records.of("record")), log.sync: \(sync), \(runs.of("run")), \(BuildKind.word) build",
            "",
        ] + table.lines
    }

    private func ratio(_ result: APIBench.Result) -> Double {
        result.load.perSecond / (results.first?.load.perSecond ?? 1)
    }

    private func milliseconds(_ microseconds: Int64) -> String {
        "\((Double(microseconds) / 1_000).text(decimals: 1)) ms"
    }

    var json: ReportValue {
        .object([
            "bench": .text("api"), "build": .text(BuildKind.word), "runs": .count(runs),
            "connections": .count(connections), "records": .count(records), "sync": .text(sync),
            "rows": .list(results.map(json)),
        ])
    }

    private func json(_ result: APIBench.Result) -> ReportValue {
        .object([
            "request": .text(result.request.rawValue), "requests": .count(result.requests),
            "requestsPerSecond": .number(result.load.perSecond), "ratioToConstant": .number(ratio(result)),
            "operationsPerSecond": .number(result.operationsPerSecond),
            "latencyMilliseconds": result.load.latency.report,
        ])
    }
}
