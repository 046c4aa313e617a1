import ArgumentParser
import PipelineRuntime

struct FanOutBenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fanout",
        abstract: "Measures one public change that very many subscriptions watch, among others.",
        discussion: """
            Starts the five stages as `belfry bench pipeline` does. Every watcher is a user with a device and a subscription \
            to one public record type; 1,000 more users watch one topic each. Changes of those topics come at a steady \
            rate, each watched by one subscription, and half-way the one that all watchers watch.

            Latency is read from the logs, as `belfry bench pipeline` reads it: from a change's acceptance to the outcome \
            of its push. Changes that were accepted while the fan-out was under way count as held up by it, those before \
            as undisturbed. When match has written the first and the last match is seen by following its log. Memory is \
            each process's resident set just before the fan-out, and at its highest from there on (VmHWM).

            Fails with exit status 1 if the pushes are not as many as they must be.

              belfry bench fanout
              belfry bench fanout --subscriptions 1000000 --json
            """)

    @Option(help: "How many subscriptions watch the one change.")
    var subscriptions = 100_000

    @Option(help: "Other changes a second.")
    var rate = 2_000

    @Option(help: "Seconds of other changes before the one, and again from it on.")
    var seconds = 5

    @OptionGroup var disk: SyncOption

    @OptionGroup var common: BenchOptions

    @Flag(help: "Keep the folder with the pipeline file, the logs and the pushes, and say where it is.")
    var keep = false

    func validate() throws {
        guard (1...FanOutWorkload.watchersMax).contains(subscriptions) else {
            throw ValidationError("--subscriptions takes a number from 1 to \(FanOutWorkload.watchersMax)")
        }
        guard (1...100_000).contains(rate) else { throw ValidationError("--rate takes a number from 1 to 100000") }
        guard (1...3_600).contains(seconds) else { throw ValidationError("--seconds takes a number from 1 to 3600") }
    }

    func run() async throws {
        BuildKind.warn()
        let options = FanOutBenchOptions(watchers: subscriptions, rate: rate, seconds: seconds, sync: disk.sync)
        let bench = FanOutBench(options: options, interruption: .watch())
        let runs = try await common.measure(by: \.lastPush, keepsFolder: keep) { try await bench.run(in: $0) }
        try common.print(FanOutReport(options: options, measure: runs.median), ofRuns: runs.all.map(\.lastPush))
        if !runs.all.allSatisfy(\.isRight) { throw ToolFailure(.no) }
    }
}
