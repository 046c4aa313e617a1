import ArgumentParser
import Glibc
import PipelineRuntime
import ZeroMQ

/// `belfry-ingest`: the source stage, which also reads files and standard input.
struct IngestProgram<Kind: StageKind>: AsyncParsableCommand, ReloadsOnHangup {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "belfry-ingest",
            abstract: "Accepts commands at the door: record changes, subscriptions, devices.",
            discussion: """
                Opens the door for `belfry send` and other producers, and writes accepted commands to the stage's log. \
                Input files go through the same door: each refused line is reported with its place and reason (on a \
                terminal, the first 20 of each input), and all other lines are accepted. After a restart, ingest skips \
                the lines of a file that were already accepted or refused. SIGHUP makes ingest read the pipeline file \
                again.

                  belfry-ingest -p Pipelines/quickstart.yaml
                  belfry-ingest -p Pipelines/quickstart.yaml monday.ndjson tuesday.ndjson
                  tail -f in.ndjson | belfry-ingest -p Pipelines/quickstart.yaml -
                  belfry-ingest -p Pipelines/quickstart.yaml --exit-when-done in.ndjson
                """)
    }

    @OptionGroup var options: StageOptions

    @Flag(
        help:
            "Stop when all inputs are sent, with exit status 65 if a line was refused now or in an earlier run."
    )
    var exitWhenDone = false

    @Argument(help: "Files of commands, one JSON object a line; - for standard input.", completion: .file())
    var inputs: [String] = []

    func validate() throws {
        if options.worker.replayWorker { throw ValidationError("a source stage cannot be replayed: it reads no log") }
        if exitWhenDone, inputs.isEmpty { throw ValidationError("--exit-when-done needs an input: a file or -") }
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

    /// How long the door may be silent. The door is in this process, so only a slow disk can delay its answers.
    private static let silenceMax = Duration.seconds(60)

    /// - Returns: The number of refused lines of this run and, if it is known, of earlier runs.
    func run() async throws -> UInt64 {
        guard !sources.isEmpty else { return 0 }
        return try await SocketThread.run(name: "inputs") { try sendAll() }
    }

    private func sendAll() throws -> UInt64 {
        var refused: UInt64 = 0
        for source in sources where stage.isRunning { refused += try send(source).allRefused }
        return refused
    }

    private func send(_ source: InputSource) throws -> LineSender.Totals {
        let host = stage.host
        let socket = try ToolSocket.make(host.plan, context)
        defer { socket.close() }
        let door = host.control.report.door ?? host.plan.door ?? ""
        let producer = try Producer(
            socket, endpoint: door, name: ProducerName.of(source), secret: host.plan.producerSecret())
        let sender = LineSender(producer, [source]) { StandardError.write($0) }
        sender.mayContinue = { [stage] _ in stage.isRunning }
        let totals = try sender.run(silenceMax: IngestFeed.silenceMax, resumes: !source.isStandardInput)
        StandardError.write("\(source.name): \(totals.text)")
        return totals
    }
}
