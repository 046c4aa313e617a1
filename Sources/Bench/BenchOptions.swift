import ArgumentParser
import EventLog

/// The options of every bench.
struct BenchOptions: ParsableArguments {
    @Option(help: "How many runs to make; the median run is reported.")
    var runs = 1

    @Flag(help: "Print JSON even on a terminal.")
    var json = false

    @Option(
        name: .customLong("in"), help: "The folder for temporary files (default: TMPDIR, or /tmp).",
        completion: .directory)
    var folder: String?

    func validate() throws {
        guard (1...1_000).contains(runs) else {
            throw ValidationError("--runs takes a number from 1 to 1000, not \(runs)")
        }
    }
}

/// The result of a bench: lines for people, JSON for programs.
protocol BenchReport {
    var lines: [String] { get }
    var json: ReportValue { get }
}

extension BenchOptions {
    /// Makes all runs, each in a new folder.
    ///
    /// - Parameter value: Returns a number for each run. The median of these numbers determines the median run.
    func measure<Result>(
        by value: (Result) -> Double, keepsFolder: Bool = false, _ run: (ScratchFolder) async throws -> Result
    ) async throws -> (median: Result, all: [Result]) {
        var all: [Result] = []
        for _ in 0..<runs {
            let scratch = try ScratchFolder(in: folder, isKept: keepsFolder)
            defer { scratch.finish() }
            all.append(try await run(scratch))
        }
        return (all.median(by: value) ?? all[0], all)
    }

    /// - Parameter values: The number for each run, as in ``measure(by:keepsFolder:_:)``.
    func print(_ report: some BenchReport, ofRuns values: [Double] = []) throws {
        if json || !StandardOutput.isTerminal {
            try StandardOutput.write(line: report.json.json)
        } else {
            for line in report.lines { try StandardOutput.write(line: line) }
            if values.count > 1 {
                let all = values.map { $0.text(decimals: 0) }.joined(separator: ", ")
                try StandardOutput.write(line: "\nall \(values.count) runs, of which the median is shown: \(all)")
            }
        }
    }
}

/// `--subscriptions` of the benches that send the changes of a ``Workload``.
struct SubscriptionsOption: ParsableArguments {
    @Option(help: "How many subscriptions to save first.")
    var subscriptions = 10_000

    func validate() throws {
        guard (1..<Workload.firstForeignTopic).contains(subscriptions) else {
            throw ValidationError(
                "--subscriptions takes a number from 1 to \(Workload.firstForeignTopic - 1), not \(subscriptions)")
        }
    }
}
