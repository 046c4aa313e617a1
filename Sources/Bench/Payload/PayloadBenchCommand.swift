import ArgumentParser

struct PayloadBenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "payload",
        abstract: "Measures the building of payloads alone: from a notification's JSON bytes to a push's.",
        discussion: """
            Makes notifications of 390-byte changes, each for a subscription with three desired keys and two localization \
            arguments, and builds their pushes on one thread. In the same run and in turns with it, five times each, the \
            medians counting: the reading of the same notifications alone, and the same payloads with Foundation's \
            JSONSerialization. Fails with exit status 70 if Foundation's payloads hold something else.

              belfry bench payload
              belfry bench payload --runs 3 --json
            """)

    @Option(help: "How many notifications to make.")
    var count = 20_000

    @Option(help: "Seconds of each turn, at least.")
    var seconds = 0.4

    @OptionGroup var common: BenchOptions

    func validate() throws {
        guard (100...1_000_000).contains(count) else {
            throw ValidationError("--count takes a number from 100 to 1000000")
        }
        guard (0.001...60).contains(seconds) else { throw ValidationError("--seconds takes a number from 0.001 to 60") }
    }

    func run() async throws {
        BuildKind.warn()
        let bench = PayloadBench(
            input: try PayloadBenchInput(count: count), seconds: seconds, interruption: .watch())
        var measures: [PayloadMeasure] = []
        for _ in 0..<common.runs { measures.append(try bench.run()) }
        guard let median = measures.median(by: \.perSecond) else { return }
        try common.print(
            PayloadBenchReport(measure: median, runs: common.runs), ofRuns: measures.map(\.perSecond))
    }
}

/// What was measured; lengths are means in bytes.
struct PayloadMeasure: Sendable {
    let payloads: Int
    let notificationBytes: Double
    var pushBytes = 0.0
    var payloadBytes = 0.0
    var perSecond = 0.0
    var readingPerSecond = 0.0
    var foundationPerSecond = 0.0
}

/// The figures as a table for people and as JSON for programs.
struct PayloadBenchReport: BenchReport {
    let measure: PayloadMeasure
    let runs: Int

    var lines: [String] {
        let bytes = [measure.notificationBytes, measure.pushBytes, measure.payloadBytes].map { $0.text(decimals: 0) }
        var table = TextTable("RATE", "payloads/s", "ns each", "of Foundation")
        for (name, rate) in [
            ("Foundation, read and written", measure.foundationPerSecond), ("pushes", measure.perSecond),
            ("reading alone", measure.readingPerSecond),
        ] {
            table.add(
                name, rate.text(decimals: 0), (1e9 / rate).text(decimals: 0),
                (rate / measure.foundationPerSecond).text(decimals: 1))
        }
        return [
            "\(measure.payloads.of("notification")) of \(Workload.lineBytes)-byte changes, 3 desired keys, 2 arguments, "
                + "\(runs.of("run")), \(BuildKind.word) build",
            "a notification of \(bytes[0]) bytes becomes a push of \(bytes[1]), \(bytes[2]) of them payload", "",
        ] + table.lines
    }

    var json: ReportValue {
        .object([
            "bench": .text("payload"), "build": .text(BuildKind.word), "runs": .count(runs),
            "payloads": .count(measure.payloads), "changeBytes": .count(Workload.lineBytes),
            "desiredKeys": .count(PayloadBenchInput.desiredKeys.count),
            "localizationArguments": .count(PayloadBenchInput.arguments.count),
            "notificationBytes": .number(measure.notificationBytes), "pushBytes": .number(measure.pushBytes),
            "payloadBytes": .number(measure.payloadBytes), "payloadsPerSecond": .number(measure.perSecond),
            "readingPerSecond": .number(measure.readingPerSecond),
            "foundationPerSecond": .number(measure.foundationPerSecond),
            "ratioToFoundation": .number(measure.perSecond / measure.foundationPerSecond),
            "ratioToReading": .number(measure.perSecond / measure.readingPerSecond),
        ])
    }
}
