import ArgumentParser

struct PayloadBenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "payload",
        abstract: "Measures only the payload stage: from a notification's JSON bytes to a push's.",
        discussion: """
            Makes notifications of \(Workload.lineBytes)-byte changes, each for a subscription with three desired keys and two \
            localization arguments, and builds their pushes on one thread. Two baselines take turns with it: reading the \
            same notifications without building anything, and building the same payloads with Foundation's \
            JSONSerialization. Each has five turns, and the median counts. Exits with status 70 if one of the first \
            payloads differs from Foundation's.

              belfry bench payload
              belfry bench payload --runs 3 --json
            """)

    @Option(help: "How many notifications to make.")
    var count = 20_000

    @Option(help: "Seconds that each turn takes at least.")
    var seconds = 0.4

    @OptionGroup var common: BenchOptions

    func validate() throws {
        guard (100...1_000_000).contains(count) else {
            throw ValidationError("--count takes a number from 100 to 1000000, not \(count)")
        }
        guard (0.001...60).contains(seconds) else {
            throw ValidationError("--seconds takes a number from 0.001 to 60, not \(seconds)")
        }
    }

    func run() async throws {
        BuildKind.warnIfDebug()
        let bench = PayloadBench(
            input: try PayloadBenchInput(count: count), seconds: seconds, interruption: .watch())
        let runs = try await common.measure(by: \.perSecond) { _ in try bench.run() }
        try common.print(
            PayloadBenchReport(result: runs.median, runs: common.runs), ofRuns: runs.all.map(\.perSecond))
    }
}

/// The result of one run. Lengths are means in bytes.
struct PayloadResult: Sendable {
    let payloads: Int
    let notificationBytes: Double
    var pushBytes = 0.0
    var payloadBytes = 0.0
    var perSecond = 0.0
    var readingPerSecond = 0.0
    var foundationPerSecond = 0.0
}

struct PayloadBenchReport: BenchReport {
    let result: PayloadResult
    let runs: Int

    var lines: [String] {
        let bytes = [result.notificationBytes, result.pushBytes, result.payloadBytes].map { $0.text(decimals: 0) }
        var table = TextTable("RATE", "payloads/s", "ns each", "of Foundation")
        for (name, rate) in [
            ("payloads built with Foundation", result.foundationPerSecond), ("pushes built", result.perSecond),
            ("notifications read", result.readingPerSecond),
        ] {
            table.add(
                name, rate.text(decimals: 0), (1e9 / rate).text(decimals: 0),
                (rate / result.foundationPerSecond).text(decimals: 1))
        }
        return [
            "\(result.payloads.of("notification")) of \(Workload.lineBytes)-byte changes, 3 desired keys, 2 arguments, "
                + "\(runs.of("run")), \(BuildKind.word) build",
            "a notification of \(bytes[0]) bytes becomes a push of \(bytes[1]) bytes with a payload of \(bytes[2])", "",
        ] + table.lines
    }

    var json: ReportValue {
        .object([
            "bench": .text("payload"), "build": .text(BuildKind.word), "runs": .count(runs),
            "payloads": .count(result.payloads), "changeBytes": .count(Workload.lineBytes),
            "desiredKeys": .count(PayloadBenchInput.desiredKeys.count),
            "localizationArguments": .count(PayloadBenchInput.arguments.count),
            "notificationBytes": .number(result.notificationBytes), "pushBytes": .number(result.pushBytes),
            "payloadBytes": .number(result.payloadBytes), "payloadsPerSecond": .number(result.perSecond),
            "readingPerSecond": .number(result.readingPerSecond),
            "foundationPerSecond": .number(result.foundationPerSecond),
            "ratioToFoundation": .number(result.perSecond / result.foundationPerSecond),
            "ratioToReading": .number(result.perSecond / result.readingPerSecond),
        ])
    }
}
