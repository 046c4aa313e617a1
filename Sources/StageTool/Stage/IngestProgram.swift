import ArgumentParser
import Glibc
import PipelineRuntime
import ZeroMQ

/// `belfry-ingest`: the source stage, which also takes files and standard input.
struct IngestProgram<Kind: StageKind>: AsyncParsableCommand, HangupTaker {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "belfry-ingest",
            abstract: "Takes commands at the door: record changes, subscriptions, devices.",
            discussion: """
                Serves the door of the pipeline file, for `belfry send` and other producers, and writes what it accepts to \
                its log. Inputs are taken through the same door: a line that is refused is reported with its place and the \
                reason, and the good lines are kept. After a restart a file goes on behind the last line taken. On SIGHUP \
                the pipeline file is read again.

                  belfry-ingest -p Pipelines/quickstart.yaml
                  belfry-ingest -p Pipelines/quickstart.yaml monday.ndjson tuesday.ndjson
                  tail -f in.ndjson | belfry-ingest -p Pipelines/quickstart.yaml -
                  belfry-ingest -p Pipelines/quickstart.yaml --exit-when-done in.ndjson
                """)
    }

    @OptionGroup var options: StageOptions

    @Flag(
        help:
            "Stop when the inputs are taken, instead of serving the door; exits with 65 if a line was refused, now or in an earlier run."
    )
    var exitWhenDone = false

    @Argument(help: "Files of commands, one JSON object a line; - for standard input.", completion: .file())
    var inputs: [String] = []

    func validate() throws {
        if options.worker.replayWorker { throw ValidationError("a source is read back, and never re-run") }
        if exitWhenDone, inputs.isEmpty { throw ValidationError("--exit-when-done needs an input; give a file or -") }
    }

    func run() async throws {
        let runner = try StageRunner(Kind.registry, options.pipeline) { [options] in try options.read($0, Kind.self) }
        let sources = inputs.map(InputSource.init(path:)).filter { !($0.isStandardInput && StageRunner.isSupervised) }
        try InputSource.check(sources)
        let feed = IngestFeed(stage: runner.running, context: runner.context, sources: sources)
        let exitWhenDone = exitWhenDone
        try await runner.run {
            let refused = try await feed.run()
            guard exitWhenDone else { return }
            runner.running.stop()
            if refused > 0 { throw ToolFailure(.badData) }
        }
    }
}

/// Sends a source stage's own inputs through its door.
struct IngestFeed: Sendable {
    let stage: ReloadableStage
    let context: HostContext
    let sources: [InputSource]

    /// How long the door, which is in this process, may be silent: the disk may be slow, no more.
    private static let patience = Duration.seconds(60)

    /// - Returns: How many lines were refused.
    func run() async throws -> UInt64 {
        guard !sources.isEmpty else { return 0 }
        return try await SocketThread.run(name: "inputs") { try sendAll() }
    }

    private func sendAll() throws -> UInt64 {
        var refused: UInt64 = 0
        for source in sources where stage.isGoingOn { refused += try send(source).allRefused }
        return refused
    }

    private func send(_ source: InputSource) throws -> LineSender.Totals {
        let host = stage.host
        let socket = try ProducerSocket.make(host.plan, context)
        defer { socket.close() }
        let door = host.control.report.door ?? host.plan.door ?? ""
        let producer = try Producer(
            socket, endpoint: door, name: ProducerName.of(source), secret: host.plan.producerSecret())
        let sender = LineSender(producer, [source]) { StandardError.write($0) }
        sender.mayContinue = { [stage] _ in stage.isGoingOn }
        let totals = try sender.run(patience: IngestFeed.patience, resumes: !source.isStandardInput)
        StandardError.write("\(source.name): \(totals.text)")
        return totals
    }
}
