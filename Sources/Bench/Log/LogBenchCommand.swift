import ArgumentParser
import PipelineRuntime
import ZeroMQ

struct LogBenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Measures only the log: appending under each sync policy, and reading.",
        discussion: """
            Appends events of \(Workload.lineBytes) bytes to a log, in batches of 1, 64 and 256 and under each sync policy, and \
            closes the log. As a baseline it writes a plain file: one pwrite for each batch, of as many bytes as the log \
            writes, and as many fdatasync calls as the log made, evenly spread. The log calls fdatasync on another thread; \
            the plain file waits for each call. The plain file is written between two logs, whose times are averaged. \
            Then the bench reads the log and checks every CRC; the baseline reads the plain file and copies each byte \
            once. All files are in the page cache. Each row shows the run with the median ratio to the baseline.

            With --home jetstream, the log is kept on NATS servers, and a batch is durable when they have stored it. The \
            baseline publishes the same bytes without a log, one message at a time. The bench makes streams of its own, and \
            removes them.

              belfry bench log
              belfry bench log --events 1000000 --runs 5 --in /srv/belfry
              belfry bench log --home jetstream --server nats://n1 --server nats://n2 --server nats://n3
            """)

    @Option(help: "How many events each row appends.")
    var events = 200_000

    @Option(help: "Where the log is kept: files, or jetstream (needs --server).")
    var home = "files"

    @Option(name: .customLong("server"), help: "The address of a NATS server; may be repeated.")
    var servers: [String] = []

    @Option(help: "With --home jetstream: on how many servers each event is stored: 1, 3 or 5.")
    var replicas = 3

    @OptionGroup var common: BenchOptions

    func validate() throws {
        guard ["files", "jetstream"].contains(home) else {
            throw ValidationError("--home takes files or jetstream, not \(home)")
        }
        guard (home == "jetstream") == !servers.isEmpty else {
            throw ValidationError("--home jetstream and --server need each other")
        }
        guard (256...100_000_000).contains(events) else {
            throw ValidationError("--events takes a number from 256 to 100000000, not \(events)")
        }
    }

    func run() async throws {
        BuildKind.warnIfDebug()
        let interruption = Interruption.watch()
        let scratch = try ScratchFolder(in: common.folder)
        defer { scratch.finish() }
        if home == "jetstream" { return try await runWithHome(scratch, interruption) }
        let bench = LogBench(events: events, folder: scratch.path, interruption: interruption)
        try common.print(try await SocketThread.run(name: "bench") { [runs = common.runs] in try measure(bench, runs) })
    }

    private func runWithHome(_ scratch: ScratchFolder, _ interruption: Interruption) async throws {
        let bench = HomeBench(
            events: events, folder: scratch.path, servers: servers, replicas: replicas, interruption: interruption)
        let all = try await SocketThread.run(name: "bench") { [runs = common.runs] in
            try (0..<runs).map { _ in try bench.measure() }
        }
        guard let median = all.median(by: \.ratio) else { return }
        try common.print(HomeBenchReport(rates: median, runs: common.runs, events: events, replicas: replicas))
    }

    private func measure(_ bench: LogBench, _ runs: Int) throws -> LogReport {
        var appends: [[LogBench.AppendRates]] = []
        var reads: [LogBench.ReadRates] = []
        for _ in 0..<runs {
            appends.append(
                try LogBench.policies.flatMap { policy in
                    try LogBench.batchSizes.map { try bench.append(policy, batchSize: $0) }
                })
            reads.append(try bench.read())
        }
        let rows = appends[0].indices.compactMap { row in appends.map { $0[row] }.median(by: \.ratio) }
        return LogReport(appends: rows, read: reads.median(by: \.ratio) ?? reads[0], runs: runs, events: events)
    }
}

struct LogReport: BenchReport {
    let appends: [LogBench.AppendRates]
    let read: LogBench.ReadRates
    let runs: Int
    let events: Int

    var lines: [String] {
        var table = TextTable("APPEND", "batch", "events/s", "MB/s", "plain file", "log / plain", "fdatasyncs")
        for row in appends {
            table.add(
                row.policy.description, row.batchSize.grouped, row.perSecond.text(decimals: 0),
                Workload.megabytes(row.perSecond).text(decimals: 0), row.baseline.text(decimals: 0),
                row.ratio.text(decimals: 2), row.syncs.grouped)
        }
        return ["\(events.of("event")) of \(Workload.lineBytes) bytes, \(runs.of("run")), \(BuildKind.word) build", ""]
            + table.lines + ["", readLine]
    }

    private var readLine: String {
        let (log, plain) = ((read.log / 1e6).text(decimals: 0), (read.baseline / 1e6).text(decimals: 0))
        return "log read and CRCs checked: \(log) MB/s; plain file read and copied: \(plain) MB/s; ratio "
            + read.ratio.text(decimals: 2)
    }

    var json: ReportValue {
        .object([
            "bench": .text("log"), "build": .text(BuildKind.word), "events": .count(events),
            "eventBytes": .count(Workload.lineBytes), "runs": .count(runs),
            "append": .list(appends.map(append)),
            "read": .object([
                "megabytesPerSecond": .number(read.log / 1e6),
                "baselineMegabytesPerSecond": .number(read.baseline / 1e6), "ratio": .number(read.ratio),
            ]),
        ])
    }

    private func append(_ row: LogBench.AppendRates) -> ReportValue {
        .object([
            "sync": .text(row.policy.description), "batch": .count(row.batchSize),
            "eventsPerSecond": .number(row.perSecond),
            "baselineEventsPerSecond": .number(row.baseline), "ratio": .number(row.ratio),
            "fdatasyncs": .count(row.syncs),
        ])
    }
}
