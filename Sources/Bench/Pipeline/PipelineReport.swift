import Events

struct PipelineReport: BenchReport {
    let options: PipelineBenchOptions
    let result: PipelineResult

    var lines: [String] {
        let rate = options.rate.map { ", sent at \($0.grouped)/s" } ?? ", as fast as the stages take them"
        return [
            "\(result.changes.of("change")) of \(Workload.lineBytes) bytes, \(options.subscriptions.of("subscription"))\(rate)",
            "sync \(options.sync), seed \(options.seed), \(BuildKind.word) build",
            "",
            "\(result.perSecond.text(decimals: 0)) changes/s end to end (\(result.seconds.text(decimals: 2)) s; "
                + "ingest answered the last change after \(result.sendSeconds.text(decimals: 2)) s)",
            "from ingest to push: \(result.latency.text)",
            result.isRight
                ? "\(result.pushes.of("push")), as expected"
                : "WRONG: \(result.pushes.of("push")) and \(result.outcomes.of(EventName.outcome.description)), expected \(result.expected.grouped)",
            "",
        ] + (result.home?.lines(result) ?? []) + (result.home == nil ? [] : [""]) + table.lines
            + (options.rate == nil ? [] : snapshotsAndPauses)
    }

    private var snapshotsAndPauses: [String] {
        let snapshots = result.snapshots
        let ratio = snapshots.p99Ratio.map { "; ratio of the p99s \($0.text(decimals: 2))" } ?? ""
        let share = (snapshots.share * 100).text(decimals: 0)
        return [
            "",
            "during snapshots (\(share) % of the run): \(snapshots.duringSnapshots.text)",
            "at other times: \(snapshots.otherwise.text)\(ratio)",
        ]
            + result.stages.map { stage in
                let causes = stage.pauses.sorted { $0.milliseconds > $1.milliseconds }.map(\.text)
                return "\(stage.name): \(stage.snapshots.of("snapshot")); longest pauses: "
                    + causes.joined(separator: ", ")
            }
    }

    private var table: TextTable {
        var table = TextTable(
            "STAGE", "CPU s", "user s", "system s", "µs/change", "of a core", "half-way", "at the end", "peak")
        for stage in result.stages { add(stage.name, stage.use, halfway: byteText(stage.halfwayBytes), to: &table) }
        if let driver = result.driver { add("(the driver)", driver, halfway: "", to: &table) }
        return table
    }

    private func add(_ name: String, _ use: ProcessUse, halfway: String, to table: inout TextTable) {
        table.add(
            name, use.seconds.text(decimals: 2), use.userSeconds.text(decimals: 2), use.systemSeconds.text(decimals: 2),
            (use.seconds * 1e6 / Double(result.changes)).text(decimals: 2),
            "\((use.seconds / result.seconds * 100).text(decimals: 0)) %", halfway, byteText(use.residentBytes),
            byteText(use.peakBytes))
    }

    var json: ReportValue {
        .object([
            "bench": .text("pipeline"), "build": .text(BuildKind.word), "changes": .count(result.changes),
            "changeBytes": .count(Workload.lineBytes), "subscriptions": .count(options.subscriptions),
            "rate": .count(options.rate ?? 0), "sync": .text(options.sync), "seed": .count(options.seed),
            "changesPerSecond": .number(result.perSecond), "seconds": .number(result.seconds),
            "sendSeconds": .number(result.sendSeconds), "latencyMilliseconds": result.latency.report,
            "snapshots": .object([
                "share": .number(result.snapshots.share),
                "meanwhileMilliseconds": result.snapshots.duringSnapshots.report,
                "otherwiseMilliseconds": result.snapshots.otherwise.report,
                "p99Ratio": .number(result.snapshots.p99Ratio ?? 0),
            ]),
            "pushes": .count(result.pushes), "outcomes": .count(result.outcomes),
            "expectedPushes": .count(result.expected), "isRight": .flag(result.isRight),
            "stages": .list(
                result.stages.map {
                    stage($0.name, $0.use, halfwayBytes: $0.halfwayBytes, $0.snapshots, $0.pausesBefore, $0.pauses)
                }),
            "home": result.home?.json(result) ?? .object([]),
            "driver": result.driver.map { stage("driver", $0, halfwayBytes: 0) } ?? .object([]),
        ])
    }

    private func stage(
        _ name: String, _ use: ProcessUse, halfwayBytes: UInt64, _ snapshots: Int = 0,
        _ pausesBefore: [StagePause] = [],
        _ pauses: [StagePause] = []
    ) -> ReportValue {
        .object([
            "stage": .text(name), "cpuSeconds": .number(use.seconds), "userSeconds": .number(use.userSeconds),
            "systemSeconds": .number(use.systemSeconds),
            "cpuMicrosecondsPerChange": .number(use.seconds * 1e6 / Double(result.changes)),
            "residentBytesHalfway": .count(halfwayBytes), "residentBytes": .count(use.residentBytes),
            "peakBytes": .count(use.peakBytes), "snapshots": .count(snapshots),
            "longestPauses": .list(pauses.map(\.report)),
            "longestPausesBefore": .list(pausesBefore.map(\.report)),
        ])
    }
}
