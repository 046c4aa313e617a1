import ArgumentParser
import ZeroMQ

struct MatchBenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "match",
        abstract: "Measures matching alone: from a change's JSON bytes to the subscriptions that watch it.",
        discussion: """
            Reads subscriptions (lines of subscription.save) and changes (record.save and record.delete as in the log of \
            changes), builds the index, and matches the changes on one thread: three passes after one to warm up, the best \
            counts. Beside it, in the same run, a look at every subscription, for the first changes only; and the changes \
            once more with one subscription in a hundred changes saved again.

              belfry bench match --subscriptions s.ndjson --changes c.ndjson
              belfry bench match --subscriptions s.ndjson --changes c.ndjson --pairs pairs.txt
            """)

    @Option(help: "A file of subscription.save commands, one a line.", completion: .file())
    var subscriptions: String

    @Option(help: "A file of changes, one a line.", completion: .file())
    var changes: String

    @Option(
        help: "Write what matches to this file, and measure nothing: a line '<change, from 0> <subscriptionID>' each.",
        completion: .file())
    var pairs: String?

    @Option(help: "How many changes to match by a look at every subscription.")
    var scanned = 200

    @OptionGroup var common: BenchOptions

    func run() async throws {
        let bench = MatchBench(
            subscriptions: try MatchInput(subscriptions), changes: try MatchInput(changes), scanned: scanned)
        guard bench.subscriptions.count > 0, bench.changes.count > 0 else {
            throw ToolFailure(.badData, "both files need at least one line")
        }
        if let pairs { return try bench.writePairs(to: pairs) }
        BuildKind.warn()
        let runs = common.runs
        let measures = try await SocketThread.run(name: "bench") { try (0..<runs).map { _ in try bench.run() } }
        guard let median = measures.median(by: \.perSecond) else { return }
        try common.print(MatchBenchReport(measure: median, runs: runs), ofRuns: measures.map(\.perSecond))
    }
}

/// The figures as a table for people and as JSON for programs.
struct MatchBenchReport: BenchReport {
    let measure: MatchMeasure
    let runs: Int

    var lines: [String] {
        let (pairs, watched) = (measure.pairs.of("pair"), measure.watched.of("change"))
        var table = TextTable("RATE", "changes/s", "of scan")
        for (name, rate) in [
            ("look at every subscription", measure.scannedPerSecond), ("index", measure.perSecond),
            ("index, one save in a hundred", measure.mixedPerSecond),
        ] { table.add(name, rate.text(decimals: 0), (rate / measure.scannedPerSecond).text(decimals: 0)) }
        return [
            "\(measure.subscriptions.of("subscription")), \(measure.changes.of("change")), \(pairs) in \(watched), "
                + "\(runs.of("run")), \(BuildKind.word) build",
            "built in \(measure.buildSeconds.text(decimals: 3)) s, \(measure.bytesEach.text(decimals: 0)) bytes each",
            "a change: p50 \(microseconds(measure.latency.p50)) µs, p99 \(microseconds(measure.latency.p99)) µs", "",
        ] + table.lines
    }

    private func microseconds(_ nanoseconds: Int64) -> String { (Double(nanoseconds) / 1_000).text(decimals: 2) }

    var json: ReportValue {
        .object([
            "bench": .text("match"), "build": .text(BuildKind.word), "runs": .count(runs),
            "subscriptions": .count(measure.subscriptions), "changes": .count(measure.changes),
            "pairs": .count(measure.pairs), "watchedChanges": .count(measure.watched),
            "buildSeconds": .number(measure.buildSeconds), "bytesPerSubscription": .number(measure.bytesEach),
            "changesPerSecond": .number(measure.perSecond),
            "p50Microseconds": .number(Double(measure.latency.p50) / 1_000),
            "p99Microseconds": .number(Double(measure.latency.p99) / 1_000),
            "scanChangesPerSecond": .number(measure.scannedPerSecond),
            "mixedChangesPerSecond": .number(measure.mixedPerSecond),
        ])
    }
}
