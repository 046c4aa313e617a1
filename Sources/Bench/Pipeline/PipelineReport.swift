import Events

/// A run as a table for people and as JSON for programs.
struct PipelineReport: BenchReport {
    let options: PipelineBenchOptions
    let measure: PipelineMeasure

    var lines: [String] {
        let rate = options.rate.map { ", sent at \($0.grouped)/s" } ?? ", as fast as it goes"
        return [
            "\(measure.changes.of("change")) of \(Workload.lineBytes) bytes, \(options.subscriptions.of("subscription"))\(rate)",
            "sync \(options.sync), seed \(options.seed), \(BuildKind.word) build",
            "",
            "\(measure.perSecond.text(decimals: 0)) changes/s end to end (\(measure.seconds.text(decimals: 2)) s; all "
                + "sent after \(measure.sendSeconds.text(decimals: 2)) s)",
            "from ingest to push: \(measure.latency.text)",
            measure.isRight
                ? "\(measure.pushes.of("push")), as expected"
                : "WRONG: \(measure.pushes.of("push")) and \(measure.outcomes.of(EventName.outcome.description)), expected \(measure.expected.grouped)",
            "",
        ] + table.lines + (options.rate == nil ? [] : pauses)
    }

    private var pauses: [String] {
        let snapshots = measure.snapshots
        let ratio = snapshots.ratio.map { "; ratio of the p99s \($0.text(decimals: 2))" } ?? ""
        let share = (snapshots.share * 100).text(decimals: 0)
        return [
            "",
            "while a snapshot was made (\(share) % of the run): \(snapshots.meanwhile.text)",
            "otherwise: \(snapshots.otherwise.text)\(ratio)",
        ]
            + measure.stages.map { stage in
                let causes = stage.pauses.sorted { $0.milliseconds > $1.milliseconds }.map(\.text)
                return "\(stage.name): \(stage.snapshots.of("snapshot")); longest pauses: "
                    + causes.joined(separator: ", ")
            }
    }

    private var table: TextTable {
        var table = TextTable(
            "STAGE", "CPU s", "user", "system", "µs/change", "of a core", "half-way", "at the end", "peak")
        for stage in measure.stages { add(stage.name, stage.use, halfway: byteText(stage.halfway), to: &table) }
        if let driver = measure.driver { add("(the driver)", driver, halfway: "", to: &table) }
        return table
    }

    private func add(_ name: String, _ use: ProcessUse, halfway: String, to table: inout TextTable) {
        table.add(
            name, use.seconds.text(decimals: 2), use.userSeconds.text(decimals: 2), use.systemSeconds.text(decimals: 2),
            (use.seconds * 1e6 / Double(measure.changes)).text(decimals: 2),
            "\((use.seconds / measure.seconds * 100).text(decimals: 0)) %", halfway, byteText(use.residentBytes),
            byteText(use.peakBytes))
    }

    var json: ReportValue {
        .object([
            "bench": .text("pipeline"), "build": .text(BuildKind.word), "changes": .count(measure.changes),
            "changeBytes": .count(Workload.lineBytes), "subscriptions": .count(options.subscriptions),
            "rate": .count(options.rate ?? 0), "sync": .text(options.sync), "seed": .count(options.seed),
            "changesPerSecond": .number(measure.perSecond), "seconds": .number(measure.seconds),
            "sendSeconds": .number(measure.sendSeconds), "latencyMilliseconds": measure.latency.report,
            "snapshots": .object([
                "share": .number(measure.snapshots.share), "meanwhileMilliseconds": measure.snapshots.meanwhile.report,
                "otherwiseMilliseconds": measure.snapshots.otherwise.report,
                "p99Ratio": .number(measure.snapshots.ratio ?? 0),
            ]),
            "pushes": .count(measure.pushes), "outcomes": .count(measure.outcomes),
            "expectedPushes": .count(measure.expected), "isRight": .flag(measure.isRight),
            "stages": .list(
                measure.stages.map {
                    stage($0.name, $0.use, halfway: $0.halfway, $0.snapshots, $0.pausesBefore, $0.pauses)
                }),
            "driver": measure.driver.map { stage("driver", $0, halfway: 0) } ?? .object([]),
        ])
    }

    private func stage(
        _ name: String, _ use: ProcessUse, halfway: UInt64, _ snapshots: Int = 0, _ pausesBefore: [StagePause] = [],
        _ pauses: [StagePause] = []
    ) -> ReportValue {
        .object([
            "stage": .text(name), "cpuSeconds": .number(use.seconds), "userSeconds": .number(use.userSeconds),
            "systemSeconds": .number(use.systemSeconds),
            "cpuMicrosecondsPerChange": .number(use.seconds * 1e6 / Double(measure.changes)),
            "residentBytesHalfway": .count(halfway), "residentBytes": .count(use.residentBytes),
            "peakBytes": .count(use.peakBytes), "snapshots": .count(snapshots),
            "longestPauses": .list(pauses.map(\.report)),
            "longestPausesBefore": .list(pausesBefore.map(\.report)),
        ])
    }
}
