import ArgumentParser
import PipelineRuntime
import ZeroMQ

struct TapCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tap",
        abstract: "Shows what a running stage writes, as it writes it.",
        discussion: """
            Reads over the stage's link as any consumer does and goes on when the stage was restarted. One line an \
            event: coloured for people on a terminal, else {"sequence":17,"now":"...","event":{...}}.

              belfry tap match -p Pipelines/quickstart.yaml
              belfry tap ingest -p Pipelines/quickstart.yaml --from 1 --limit 10
              belfry tap deliver -p Pipelines/quickstart.yaml | jq -r .event.outcome
              belfry tap ingest -p Pipelines/quickstart.yaml --key screen.key

            Exits with 69 when the stage does not answer, with 77 when it does not let in the key.
            """)

    @Argument(help: "The stage's name in the pipeline file.")
    var stage: String

    @Option(name: .shortAndLong, help: "The pipeline file.", completion: .file(extensions: ["yaml", "yml"]))
    var pipeline: String

    @Option(help: "The first sequence to show, or end: only what comes from now on.")
    var from: TapStart = .end

    @Option(parsing: .unconditional, help: "Stop after this many events.")
    var limit: UInt64?

    @Flag(help: "Print the events alone, without sequence and time.")
    var bare = false

    @OptionGroup var keys: KeyOptions

    @Option(help: "Seconds to wait for the stage to answer at first.")
    var timeout: Double = 10

    func validate() throws {
        if limit == 0 { throw ValidationError("--limit takes a number from 1 on") }
        guard timeout > 0, timeout <= 86_400 else {
            throw ValidationError("--timeout takes a number of seconds, more than 0 and at most 86400")
        }
    }

    func run() async throws {
        let checked = try CheckedPipeline(path: pipeline)
        var surroundings = HostSurroundings(registry: .builtIns, context: try HostContext())
        surroundings.toolKeys = try keys.pair()
        let host = try StageHost(try checked.stage(stage), of: checked.file, in: surroundings)
        let tap = Tap(
            plan: host.plan, context: surroundings.context, start: from, limit: limit ?? .max, bare: bare,
            patience: .seconds(timeout))
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
