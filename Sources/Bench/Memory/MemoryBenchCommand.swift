import ArgumentParser
import ZeroMQ

struct MemoryBenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "memory",
        abstract: "Measures the memory for each device, badge and held notification.",
        discussion: """
            Makes many users. For each user, the deliver stage gets a device, the payload stage gets a badge, and the \
            coalesce stage gets two matches. The notification of the first match leaves at once, and the stage holds \
            the second notification. The report shows the bytes for each device, badge and held notification, and how \
            many of these bytes are more than the text that the stage must keep. `belfry bench ingest` measures \
            records, and `belfry bench match` subscriptions.

              belfry bench memory
              belfry bench memory --count 100000 --json
            """)

    @Option(help: "How many users.")
    var count = 1_000_000

    @OptionGroup var common: BenchOptions

    func validate() throws {
        guard (1_000...100_000_000).contains(count) else {
            throw ValidationError("--count takes a number from 1000 to 100000000, not \(count)")
        }
    }

    func run() async throws {
        BuildKind.warnIfDebug()
        let bench = MemoryBench(users: count, interruption: .watch())
        var results: [MemoryBench.Result] = []
        for kind in MemoryBench.StateKind.allCases {
            let runs = try await common.measure(by: \.bytes) { _ in
                try await SocketThread.run(name: "bench") { try bench.run(kind) }
            }
            results.append(runs.median)
        }
        try common.print(MemoryBenchReport(results: results, count: count, runs: common.runs))
    }
}

struct MemoryBenchReport: BenchReport {
    let results: [MemoryBench.Result]
    let count: Int
    let runs: Int

    var lines: [String] {
        var table = TextTable("\(count.grouped) OF EACH", "bytes", "text", "beyond text")
        for result in results {
            table.add(
                result.kind.rawValue, result.bytes.text(decimals: 0), result.textBytes.text(decimals: 0),
                result.bytesBeyondText.text(decimals: 0))
        }
        return ["\(runs.of("run")), \(BuildKind.word) build", ""] + table.lines
    }

    var json: ReportValue {
        .object([
            "bench": .text("memory"), "build": .text(BuildKind.word), "runs": .count(runs), "count": .count(count),
            "rows": .list(
                results.map { result in
                    .object([
                        "kept": .text(result.kind.rawValue), "bytes": .number(result.bytes),
                        "textBytes": .number(result.textBytes), "bytesBeyondText": .number(result.bytesBeyondText),
                    ])
                }),
        ])
    }
}
