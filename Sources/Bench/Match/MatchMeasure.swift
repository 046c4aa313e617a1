/// What was measured; times in seconds and, for one change or edit, in nanoseconds.
struct MatchMeasure: Sendable {
    let subscriptions: Int
    let changes: Int
    var buildSeconds = 0.0
    /// Memory that was gained while the index was built, by subscription; that of the files does not count.
    var bytesEach = 0.0
    var perSecond = 0.0
    var latency = Percentiles([])
    var pairs = 0
    var watched = 0
    var digest = ""
    var scannedPerSecond = 0.0
    var mixedPerSecond = 0.0
    var edit = Percentiles([])
    var snapshot = SnapshotMeasure()

    struct SnapshotMeasure: Sendable {
        var bytes = 0
        /// With the file's way to the disk.
        var writeSeconds = 0.0
        /// From the file to an index that answers.
        var loadSeconds = 0.0
    }
}

/// The figures as a table for people and as JSON for programs.
struct MatchBenchReport: BenchReport {
    let measure: MatchMeasure
    let runs: Int

    var lines: [String] {
        let (pairs, watched) = (measure.pairs.of("pair"), measure.watched.of("change"))
        let snapshot = measure.snapshot
        return [
            "\(measure.subscriptions.of("subscription")), \(measure.changes.of("change")), \(pairs) in \(watched), "
                + "\(runs.of("run")), \(BuildKind.word) build",
            "SHA-256 of the pairs: \(measure.digest)",
            "built in \(measure.buildSeconds.text(decimals: 3)) s, \(measure.bytesEach.text(decimals: 0)) bytes each; "
                + "a snapshot of \(byteText(UInt64(snapshot.bytes))) written in "
                + "\(snapshot.writeSeconds.text(decimals: 3)) s, loaded in \(snapshot.loadSeconds.text(decimals: 3)) s",
            "a change: \(text(measure.latency)); a save or a delete between changes: \(text(measure.edit))", "",
        ] + table.lines
    }

    private var table: TextTable {
        var table = TextTable("RATE", "changes/s", "of scan")
        for (name, rate) in [
            ("look at every subscription", measure.scannedPerSecond), ("index", measure.perSecond),
            ("index, one operation in a hundred a save or delete", measure.mixedPerSecond),
        ] { table.add(name, rate.text(decimals: 0), (rate / measure.scannedPerSecond).text(decimals: 0)) }
        return table
    }

    private func text(_ latency: Percentiles) -> String {
        "p50 \(microseconds(latency.p50).text(decimals: 2)) µs, p99 \(microseconds(latency.p99).text(decimals: 2)) µs"
    }

    private func microseconds(_ nanoseconds: Int64) -> Double { Double(nanoseconds) / 1_000 }

    var json: ReportValue {
        .object([
            "bench": .text("match"), "build": .text(BuildKind.word), "runs": .count(runs),
            "subscriptions": .count(measure.subscriptions), "changes": .count(measure.changes),
            "pairs": .count(measure.pairs), "watchedChanges": .count(measure.watched),
            "pairsSHA256": .text(measure.digest), "buildSeconds": .number(measure.buildSeconds),
            "bytesPerSubscription": .number(measure.bytesEach), "changesPerSecond": .number(measure.perSecond),
            "p50Microseconds": .number(microseconds(measure.latency.p50)),
            "p99Microseconds": .number(microseconds(measure.latency.p99)),
            "scanChangesPerSecond": .number(measure.scannedPerSecond),
            "mixedChangesPerSecond": .number(measure.mixedPerSecond),
            "editP50Microseconds": .number(microseconds(measure.edit.p50)),
            "editP99Microseconds": .number(microseconds(measure.edit.p99)),
            "snapshotBytes": .count(measure.snapshot.bytes),
            "snapshotWriteSeconds": .number(measure.snapshot.writeSeconds),
            "snapshotLoadSeconds": .number(measure.snapshot.loadSeconds),
        ])
    }
}
