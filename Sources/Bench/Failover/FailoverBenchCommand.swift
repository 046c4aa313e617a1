import ArgumentParser
import PipelineKit
import ZeroMQ

struct FailoverBenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "failover",
        abstract: "Measures how soon another host sends pushes after a host was killed.",
        discussion: """
            Runs a pipeline on two hosts, which are two addresses of this machine, and sends changes all the time. In each \
            run it kills all processes of the host that runs the stages, and waits for the first push of the other host. \
            The time contains the setting takeOver: the other host waits for so long, and up to 30 % more, before it \
            takes over. The baseline is takeOver. The streams of the bench stay on the servers; remove them with \
            nats stream rm.

              belfry bench failover --server nats://n1 --server nats://n2 --server nats://n3 --runs 5
            """)

    @Option(name: .customLong("server"), help: "The address of a NATS server; may be repeated.")
    var servers: [String]

    @Option(help: "On how many servers each event is stored: 1, 3 or 5.")
    var replicas = 3

    @Option(help: "The silence after which the other host takes over, in seconds.")
    var takeOver = 3

    @OptionGroup var common: BenchOptions

    func validate() throws {
        guard (1...300).contains(takeOver) else {
            throw ValidationError("--take-over takes a number of seconds from 1 to 300, not \(takeOver)")
        }
    }

    func run() async throws {
        BuildKind.warnIfDebug()
        let interruption = Interruption.watch()
        let scratch = try ScratchFolder(in: common.folder)
        defer { scratch.finish() }
        let (folder, runs) = (scratch.path, common.runs)
        let (servers, replicas, takeOver) = (servers, replicas, takeOver)
        let all = try await SocketThread.run(name: "bench") {
            try FailoverBench(
                folder: folder, servers: servers, replicas: replicas, takeOver: "\(takeOver)s", interruption
            ).measure(kills: runs)
        }
        try common.print(FailoverReport(seconds: all, takeOver: takeOver, replicas: replicas))
    }
}

struct FailoverReport: BenchReport {
    /// The time of each run.
    let seconds: [Double]
    let takeOver: Int
    let replicas: Int

    private var beyond: Double { seconds.median - Double(takeOver) }

    var lines: [String] {
        [
            "\(seconds.count.of("kill")) of a host, takeOver \(takeOver) s, each event on \(replicas.of("server")), "
                + "\(BuildKind.word) build",
            "first push of the other host after \(seconds.median.text(decimals: 1)) s (median), which is takeOver + "
                + "\(beyond.text(decimals: 1)) s; all: \(seconds.map { $0.text(decimals: 1) }.joined(separator: ", ")) s",
        ]
    }

    var json: ReportValue {
        .object([
            "bench": .text("failover"), "build": .text(BuildKind.word), "runs": .count(seconds.count),
            "replicas": .count(replicas), "takeOverSeconds": .count(takeOver),
            "seconds": .number(seconds.median), "beyondTakeOverSeconds": .number(beyond),
            "all": .list(seconds.map { .number($0) }),
        ])
    }
}
