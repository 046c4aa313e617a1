import ArgumentParser
import EventLog
import PipelineKit

struct PipelineBenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pipeline",
        abstract: "Measures the five stages as processes under a known workload.",
        discussion: """
            Starts ingest, match, coalesce, payload and deliver as `belfry up` does, over ipc, in a new folder that it \
            removes afterwards. The transport writes pushes to a file.

            The same seed makes the same workload, byte for byte. First come devices, one for each user, and \
            subscriptions, five for each user. Of ten subscriptions, six are queries of a private database, three are \
            queries of the public database, and one watches a zone. Their notifications are visible and have no \
            collapse ID. Then come changes of \(Workload.lineBytes) bytes. Each change saves one of --records records, \
            at random. One change in four, at random, is watched by one subscription. Exits with status 1 if the \
            number of pushes or outcomes is not the expected one.

            Throughput, in changes a second, is measured from the first send to the last outcome. The latency from \
            ingest to push is read from the logs: the time of the batch of outcomes that names the change as a cause, \
            less the time of the change's batch in the changes log. Without --rate the queues are always full, so the \
            latency shows how long they are. CPU time counts from the first send; memory is the resident set of the \
            process. The row (the driver) is the process of the bench itself.

            With --rate the text also shows the number of snapshots of each stage, the latency of changes while a \
            snapshot was made and otherwise, and the longest pauses of each stage. In a pause, a stage is busy and \
            does not look at its sockets. The text shows each pause's main cause, how long the pause took, and for how \
            long the stage ran on a processor. JSON has these values without --rate, too.

            With --server, the logs are also kept on NATS servers. Then the bench publishes messages of 1 MB without a \
            pipeline, one at a time, and says how many changes a second that speed would allow for the bytes of the five \
            logs.

              belfry bench pipeline
              belfry bench pipeline --rate 20000 --changes 400000
              belfry bench pipeline --runs 5 --json | jq .changesPerSecond
            """)

    @Option(help: "How many changes to send.")
    var changes: UInt64 = 1_000_000

    @Option(help: "How many changes to send each second, evenly spread (default: as fast as the stages take them).")
    var rate: Int?

    @OptionGroup var subscriptionsOption: SubscriptionsOption

    @Option(help: "How many record names the changes use. About a tenth of the names are used in two zones.")
    var records = 100_000

    @Option(
        help: """
            How many devices to register first, each for a user of its own. Every user with subscriptions gets a \
            device, even if this number is smaller.
            """)
    var devices = 0

    @Option(
        help: """
            Input between two snapshots of a stage (default: 32 MiB with --rate, otherwise the default of pipeline \
            files).
            """)
    var snapshotBytes: String?

    @Option(help: "When the logs call fdatasync: always, interval DURATION or never.")
    var sync = "interval 50ms"

    @Option(
        name: .customLong("server"),
        help: "The address of a NATS server that keeps the logs; may be repeated (default: local files only).")
    var servers: [String] = []

    @Option(help: "With --server: on how many servers each event is stored: 1, 3 or 5.")
    var replicas = 3

    @Option(help: "How many lanes of match, coalesce, payload and deliver share the work.")
    var lanes = 1

    @Option(help: "The seed of the workload.")
    var seed: UInt64 = 1

    @OptionGroup var common: BenchOptions

    @Flag(help: "Keep the folder with the pipeline file, the logs and the pushes, and print its path.")
    var keep = false

    func validate() throws {
        if changes == 0 { throw ValidationError("--changes takes a number from 1 on, not 0") }
        if let rate, rate < 1 { throw ValidationError("--rate takes a number from 1 on, not \(rate)") }
        guard (1...Lane.countMax).contains(lanes) else {
            throw ValidationError("--lanes takes a number from 1 to \(Lane.countMax), not \(lanes)")
        }
        guard (0...1_000_000).contains(devices) else {
            throw ValidationError("--devices takes a number from 0 to 1000000, not \(devices)")
        }
        guard (1..<100_000_000).contains(records) else {
            throw ValidationError("--records takes a number from 1 to 99999999, not \(records)")
        }
        guard SyncPolicy(sync) != nil else {
            throw ValidationError(
                "--sync takes always, never, or interval and a duration as in 'interval 50ms', not '\(sync.printable)'")
        }
    }

    func run() async throws {
        BuildKind.warnIfDebug()
        let options = PipelineBenchOptions(
            changes: changes, rate: rate, subscriptions: subscriptionsOption.subscriptions, records: records,
            devices: devices, snapshotBytes: snapshotBytes ?? (rate == nil ? nil : "32 MiB"), sync: sync,
            servers: servers, replicas: replicas, lanes: lanes, seed: seed)
        let bench = PipelineBench(options: options, interruption: .watch())
        let runs = try await common.measure(by: \.perSecond, keepsFolder: keep) { try await bench.run(in: $0) }
        try common.print(PipelineReport(options: options, result: runs.median), ofRuns: runs.all.map(\.perSecond))
        if !runs.all.allSatisfy(\.isRight) { throw ToolFailure(.no) }
    }
}
