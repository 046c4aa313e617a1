import ArgumentParser

struct LanesBenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lanes",
        abstract: "Measures what lanes cost and gain.",
        discussion: """
            Runs the workload of `belfry bench pipeline` with 1, 2 and 4 lanes, each stage of each lane in a process of its \
            own. For each number of lanes it shows the changes a second, and the processor time for each change: of \
            ingest, of all match stages, and of all stages. A further lane costs time for each change that it does not \
            take, and looks at each change of a public database: three changes in ten. The last column shows this cost for \
            each further lane: the growth of the time of ingest and match.

              belfry bench lanes
              belfry bench lanes --changes 200000 --runs 3
            """)

    @Option(help: "How many changes to send in each run.")
    var changes: UInt64 = 400_000

    @OptionGroup var subscriptionsOption: SubscriptionsOption

    @Option(help: "The seed of the workload.")
    var seed: UInt64 = 1

    @OptionGroup var common: BenchOptions

    func run() async throws {
        BuildKind.warnIfDebug()
        let interruption = Interruption.watch()
        var rows: [LanesReport.Row] = []
        var isRight = true
        for count in [1, 2, 4] {
            let options = PipelineBenchOptions(
                changes: changes, subscriptions: subscriptionsOption.subscriptions, lanes: count, seed: seed)
            let bench = PipelineBench(options: options, interruption: interruption)
            let runs = try await common.measure(by: \.perSecond) { try await bench.run(in: $0) }
            isRight = isRight && runs.all.allSatisfy(\.isRight)
            rows.append(LanesReport.Row(lanes: count, result: runs.median))
        }
        try common.print(LanesReport(rows: rows, changes: changes))
        if !isRight { throw ToolFailure(.no) }
    }
}

struct LanesReport: BenchReport {
    struct Row {
        let lanes: Int
        let perSecond: Double
        /// Processor time for each change, in microseconds.
        let (ingest, match, all): (Double, Double, Double)

        init(lanes: Int, result: PipelineResult) {
            (self.lanes, perSecond) = (lanes, result.perSecond)
            func time(_ isWanted: (String) -> Bool) -> Double {
                let seconds = result.stages.filter { isWanted($0.name) }.reduce(0) { $0 + $1.use.seconds }
                return seconds * 1e6 / Double(result.changes)
            }
            (ingest, match, all) = (time { $0 == "ingest" }, time { $0.hasPrefix("match") }, time { _ in true })
        }
    }

    let rows: [Row]
    let changes: UInt64

    private func costOfLane(_ row: Row) -> Double? {
        guard let one = rows.first, one.lanes == 1, row.lanes > 1 else { return nil }
        return (row.ingest + row.match - one.ingest - one.match) / Double(row.lanes - 1)
    }

    var lines: [String] {
        var table = TextTable(
            "LANES", "changes/s", "ingest µs/change", "match µs/change", "all µs/change", "a further lane, µs/change")
        for row in rows {
            table.add(
                "\(row.lanes)", row.perSecond.text(decimals: 0), row.ingest.text(decimals: 2),
                row.match.text(decimals: 2), row.all.text(decimals: 2), costOfLane(row)?.text(decimals: 2) ?? "")
        }
        return ["\(changes.of("change")) in each run, \(BuildKind.word) build", ""] + table.lines
    }

    var json: ReportValue {
        .object([
            "bench": .text("lanes"), "build": .text(BuildKind.word), "changes": .count(changes),
            "runs": .list(rows.map { .object(members($0)) }),
        ])
    }

    private func members(_ row: Row) -> [ReportValue.Member] {
        let values: [(String, ReportValue?)] = [
            ("lanes", .count(row.lanes)), ("changesPerSecond", .number(row.perSecond)),
            ("ingestMicroseconds", .number(row.ingest)), ("matchMicroseconds", .number(row.match)),
            ("microseconds", .number(row.all)), ("furtherLaneMicroseconds", costOfLane(row).map { .number($0) }),
        ]
        return values.compactMap { key, value in value.map { ReportValue.Member(key: key, value: $0) } }
    }
}
