import Events

/// A run as text for people and as JSON for programs.
struct FanOutReport: BenchReport {
    let options: FanOutBenchOptions
    let measure: FanOutMeasure

    var lines: [String] {
        [
            "one change that \(options.watchers.of("subscription")) watch, among \(options.rate.grouped)/s that one watches",
            "sync \(options.sync), \(BuildKind.word) build",
            "",
            "since it was accepted: first match \(text(measure.firstMatch)), last match \(text(measure.lastMatch)), "
                + "first push \(text(measure.firstPush)), last push \(text(measure.lastPush))",
            "other changes, from ingest to push, before it: \(measure.undisturbed.text)",
            "the same, \(measure.heldUp.count.grouped) that came while it was under way: \(measure.heldUp.text)",
            measure.isRight
                ? "\(measure.pushes.of("push")), as expected"
                : "WRONG: \(measure.pushes.of("push")) and \(measure.outcomes.of(EventName.outcome.description)), expected \(measure.expected.grouped)",
            "",
        ] + table.lines
    }

    private var table: TextTable {
        var table = TextTable("STAGE", "CPU s since", "memory before", "peak since")
        for stage in measure.stages {
            table.add(
                stage.name, stage.seconds.text(decimals: 2), byteText(stage.residentBefore), byteText(stage.peak))
        }
        return table
    }

    private func text(_ milliseconds: Double) -> String { "\(milliseconds.text(decimals: 1)) ms" }

    var json: ReportValue {
        .object([
            "bench": .text("fanout"), "build": .text(BuildKind.word), "subscriptions": .count(options.watchers),
            "rate": .count(options.rate), "seconds": .count(options.seconds), "sync": .text(options.sync),
            "firstMatchMilliseconds": .number(measure.firstMatch), "lastMatchMilliseconds": .number(measure.lastMatch),
            "firstPushMilliseconds": .number(measure.firstPush), "lastPushMilliseconds": .number(measure.lastPush),
            "undisturbedMilliseconds": measure.undisturbed.report, "heldUp": .count(measure.heldUp.count),
            "heldUpMilliseconds": measure.heldUp.report, "pushes": .count(measure.pushes),
            "outcomes": .count(measure.outcomes), "expectedPushes": .count(measure.expected),
            "isRight": .flag(measure.isRight),
            "stages": .list(
                measure.stages.map {
                    .object([
                        "stage": .text($0.name), "cpuSeconds": .number($0.seconds),
                        "residentBytesBefore": .count($0.residentBefore),
                        "peakBytes": .count($0.peak),
                    ])
                }),
        ])
    }
}
