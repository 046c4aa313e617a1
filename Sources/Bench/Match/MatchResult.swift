/// The result of one run. Latencies are in nanoseconds.
struct MatchResult: Sendable {
    let subscriptions: Int
    let changes: Int
    var buildSeconds = 0.0
    /// How much memory the process gained while it built the index, divided by the number of subscriptions.
    var bytesPerSubscription = 0.0
    var perSecond = 0.0
    /// The time that matching one change takes.
    var latency = Percentiles([])
    /// The number of pairs of a change and a subscription that watches it.
    var pairs = 0
    /// The number of changes that at least one subscription watches.
    var watched = 0
    /// The SHA-256 of the pairs.
    var digest = ""
    var scannedPerSecond = 0.0
    /// Changes a second while subscriptions are deleted and saved.
    var mixedPerSecond = 0.0
    /// The time that a save or a delete takes.
    var edit = Percentiles([])
    var snapshot = Snapshot()

    struct Snapshot: Sendable {
        var bytes = 0
        /// Includes writing the file to the disk.
        var writeSeconds = 0.0
        /// Includes reading the file.
        var loadSeconds = 0.0
    }
}

struct MatchBenchReport: BenchReport {
    let result: MatchResult
    let runs: Int

    var lines: [String] {
        let (pairs, watched) = (result.pairs.of("pair"), result.watched.of("change"))
        let snapshot = result.snapshot
        return [
            "\(result.subscriptions.of("subscription")), \(result.changes.of("change")), \(pairs) in \(watched), "
                + "\(runs.of("run")), \(BuildKind.word) build",
            "SHA-256 of the pairs: \(result.digest)",
            "built in \(result.buildSeconds.text(decimals: 3)) s, \(result.bytesPerSubscription.text(decimals: 0)) bytes for each subscription; "
                + "a snapshot of \(byteText(UInt64(snapshot.bytes))) written in "
                + "\(snapshot.writeSeconds.text(decimals: 3)) s, loaded in \(snapshot.loadSeconds.text(decimals: 3)) s",
            "one change: \(text(result.latency)); one save or delete: \(text(result.edit))", "",
        ] + table.lines
    }

    private var table: TextTable {
        var table = TextTable("RATE", "changes/s", "× scan")
        for (name, rate) in [
            ("scan of all subscriptions", result.scannedPerSecond), ("index", result.perSecond),
            ("index, one save or delete in 100 operations", result.mixedPerSecond),
        ] { table.add(name, rate.text(decimals: 0), (rate / result.scannedPerSecond).text(decimals: 0)) }
        return table
    }

    private func text(_ latency: Percentiles) -> String {
        "p50 \(microseconds(latency.p50).text(decimals: 2)) µs, p99 \(microseconds(latency.p99).text(decimals: 2)) µs"
    }

    private func microseconds(_ nanoseconds: Int64) -> Double { Double(nanoseconds) / 1_000 }

    var json: ReportValue {
        .object([
            "bench": .text("match"), "build": .text(BuildKind.word), "runs": .count(runs),
            "subscriptions": .count(result.subscriptions), "changes": .count(result.changes),
            "pairs": .count(result.pairs), "watchedChanges": .count(result.watched),
            "pairsSHA256": .text(result.digest), "buildSeconds": .number(result.buildSeconds),
            "bytesPerSubscription": .number(result.bytesPerSubscription), "changesPerSecond": .number(result.perSecond),
            "p50Microseconds": .number(microseconds(result.latency.p50)),
            "p99Microseconds": .number(microseconds(result.latency.p99)),
            "scanChangesPerSecond": .number(result.scannedPerSecond),
            "mixedChangesPerSecond": .number(result.mixedPerSecond),
            "editP50Microseconds": .number(microseconds(result.edit.p50)),
            "editP99Microseconds": .number(microseconds(result.edit.p99)),
            "snapshotBytes": .count(result.snapshot.bytes),
            "snapshotWriteSeconds": .number(result.snapshot.writeSeconds),
            "snapshotLoadSeconds": .number(result.snapshot.loadSeconds),
        ])
    }
}
