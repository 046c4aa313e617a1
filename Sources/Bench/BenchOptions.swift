import ArgumentParser
import EventLog

/// What every measurement takes.
struct BenchOptions: ParsableArguments {
    @Option(help: "Measure as often, and report the run in the middle.")
    var runs = 1

    @Flag(help: "Print one JSON object, also on a terminal.")
    var json = false

    @Option(
        name: .customLong("in"), help: "Where to make the folder of a run (default: TMPDIR, or /tmp).",
        completion: .directory)
    var folder: String?

    func validate() throws {
        guard (1...1_000).contains(runs) else { throw ValidationError("--runs takes a number from 1 to 1000") }
    }
}

/// What a measurement says of itself.
protocol BenchReport {
    var lines: [String] { get }
    var json: ReportValue { get }
}

extension BenchOptions {
    /// Measures as often as asked, each time in a folder of its own.
    ///
    /// - Parameter value: The measure by which the run in the middle is chosen.
    func measure<Measure>(
        by value: (Measure) -> Double, keepsFolder: Bool = false, _ run: (ScratchFolder) async throws -> Measure
    ) async throws -> (median: Measure, all: [Measure]) {
        var all: [Measure] = []
        for _ in 0..<runs {
            let scratch = try ScratchFolder(in: folder, isKept: keepsFolder)
            defer { scratch.finish() }
            all.append(try await run(scratch))
        }
        return (all.sorted { value($0) < value($1) }[(all.count - 1) / 2], all)
    }

    /// - Parameter values: What each run came to, by the measure that the median was chosen by.
    func print(_ report: some BenchReport, ofRuns values: [Double] = []) throws {
        if json || !StandardOutput.isTerminal {
            try StandardOutput.write(line: report.json.json)
        } else {
            for line in report.lines { try StandardOutput.write(line: line) }
            if values.count > 1 {
                let all = values.map { $0.text(decimals: 0) }.joined(separator: ", ")
                try StandardOutput.write(line: "\nthe middle one of \(values.count) runs: \(all)")
            }
        }
    }
}

/// `--subscriptions` of the benches that send the lines of a ``Workload``.
struct SubscriptionsOption: ParsableArguments {
    @Option(help: "How many subscriptions to save first.")
    var subscriptions = 10_000

    func validate() throws {
        guard (1..<Workload.foreignTopics).contains(subscriptions) else {
            throw ValidationError("--subscriptions takes a number from 1 to \(Workload.foreignTopics - 1)")
        }
    }
}

/// `--sync` of the benches that run a whole pipeline.
struct SyncOption: ParsableArguments {
    @Option(help: "When the logs go to disk: always, interval DURATION or never.")
    var sync = "interval 50ms"

    func validate() throws {
        guard SyncPolicy(sync) != nil else {
            throw ValidationError("--sync takes always, never, or interval and a duration: \"interval 50ms\"")
        }
    }
}
