import ArgumentParser
import PipelineRuntime

struct PipelineBenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pipeline",
        abstract: "Drives the five stages as real processes with a known workload.",
        discussion: """
            Starts ingest, match, coalesce, payload and deliver as `belfry up` does, over ipc, in a new folder that is \
            removed afterwards, with a transport that writes to a file.

            The workload is the same bytes for the same seed: a device for each user, subscriptions (five a user: of ten, \
            six private queries, three public ones and one zone; visible, without collapse ID), then changes of \
            \(Workload.lineBytes) bytes each, saves of 110,000 records at most. One in four, drawn by coin, is watched, by \
            one subscription. Fails with exit status 1 if the pushes are not as many as the workload's maker counted.

            Changes a second count from the first send to the last outcome. Latency from ingest to push is read from the \
            logs afterwards: the time of the batch of outcomes that names the change among its causes, less the time of \
            the change's batch in the changes log. Without --rate the queues are always full, and latency says how \
            long they are. CPU time is that since the first send; memory is the process's resident set.

            With --rate the report also has the snapshots that each stage made, the latency of the changes that came while \
            one was made and of the others, and each stage's longest pauses: how long one turn of its loop took, by what \
            took most of the turn, and what of the time the stage had a processor.

              belfry bench pipeline
              belfry bench pipeline --rate 20000 --changes 400000
              belfry bench pipeline --runs 5 --json | jq .changesPerSecond
            """)

    @Option(help: "How many changes to send.")
    var changes: UInt64 = 1_000_000

    @Option(help: "Changes a second, sent a few each millisecond (default: as fast as they are taken).")
    var rate: Int?

    @OptionGroup var users: SubscriptionsOption

    @Option(help: "How many records the changes save.")
    var records = 100_000

    @Option(help: "How many devices to register first, if more than one for each user.")
    var devices = 0

    @Option(help: "Input between two snapshots of a stage (default: 32 MiB with --rate, else as in pipeline files).")
    var snapshotBytes: String?

    @OptionGroup var disk: SyncOption

    @Option(help: "Another seed makes another workload.")
    var seed: UInt64 = 1

    @OptionGroup var common: BenchOptions

    @Flag(help: "Keep the folder with the pipeline file, the logs and the pushes, and say where it is.")
    var keep = false

    func validate() throws {
        if changes == 0 { throw ValidationError("--changes takes a number from 1 on") }
        if rate.map({ $0 < 1 }) == true { throw ValidationError("--rate takes a number from 1 on") }
        guard (0...1_000_000).contains(devices) else { throw ValidationError("--devices takes a number up to 1000000") }
        guard (1..<100_000_000).contains(records) else {
            throw ValidationError("--records takes a number from 1 to 99999999")
        }
    }

    func run() async throws {
        BuildKind.warn()
        let options = PipelineBenchOptions(
            changes: changes, rate: rate, subscriptions: users.subscriptions, records: records,
            devices: devices, snapshotBytes: snapshotBytes ?? (rate == nil ? nil : "32 MiB"), sync: disk.sync,
            seed: seed)
        let bench = PipelineBench(options: options, interruption: .watch())
        let runs = try await common.measure(by: \.perSecond, keepsFolder: keep) { try await bench.run(in: $0) }
        try common.print(PipelineReport(options: options, measure: runs.median), ofRuns: runs.all.map(\.perSecond))
        if !runs.all.allSatisfy(\.isRight) { throw ToolFailure(.no) }
    }
}
