import ArgumentParser
import PipelineRuntime
import ZeroMQ

struct TapCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tap",
        abstract: "Shows the events of a running stage as it writes them.",
        discussion: """
            Reads from the stage's link like any other consumer, and continues after a restart of the stage. Prints one \
            line for each event: for people on a terminal, otherwise {"sequence":17,"now":"...","event":{...}}.

              belfry tap match -p Pipelines/quickstart.yaml
              belfry tap ingest -p Pipelines/quickstart.yaml --from 1 --limit 10
              belfry tap deliver -p Pipelines/quickstart.yaml | jq -r .event.outcome
              belfry tap ingest -p Pipelines/quickstart.yaml --key screen.key

            Exits with 66 if the log does not have the event of --from yet, with 69 if the stage does not answer, with \
            77 if it rejects the key.
            """)

    @Argument(help: "The stage's name in the pipeline file.")
    var stage: String

    @Option(name: .shortAndLong, help: "The pipeline file.", completion: .file(extensions: ["yaml", "yml"]))
    var pipeline: String

    @Option(help: "The first sequence to show, or end for new events only.")
    var from: TapStart = .end

    @Option(parsing: .unconditional, help: "Stop after this many events.")
    var limit: UInt64?

    @Flag(help: "Print only the events, without sequence and time.")
    var bare = false

    @OptionGroup var keys: KeyOptions

    @OptionGroup var timeout: TimeoutOption

    func validate() throws {
        if limit == 0 { throw ValidationError("--limit takes a number from 1 on, not 0") }
    }

    func run() async throws {
        var checked = try CheckedPipeline(path: pipeline)
        checked = try checked.onOwner(of: try checked.stage(stage), atMost: timeout.duration)
        var surroundings = HostSurroundings(registry: .builtIns, context: try HostContext())
        surroundings.toolKeys = try keys.pair()
        let host = try StageHost(try checked.stage(stage), of: checked.file, in: surroundings)
        let tap = Tap(
            plan: host.plan, context: surroundings.context, start: from, limit: limit ?? .max,
            printsEventsOnly: bare, timeout: timeout.duration)
        try await SocketThread.run(name: "tap") { try tap.run() }
    }
}

/// Where a tap begins.
enum TapStart: ExpressibleByArgument, Equatable, Sendable {
    case end
    case sequence(UInt64)

    init?(argument: String) {
        if argument == "end" {
            self = .end
        } else if let sequence = UInt64(argument), sequence > 0 {
            self = .sequence(sequence)
        } else {
            return nil
        }
    }

    var defaultValueDescription: String { "end" }
}
