import ArgumentParser
import BuiltIns
import Inspect
import PipelineRuntime
import Replay

struct StateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "state",
        abstract: "Shows what a stage knew: subscriptions, devices, pending, badges, records.",
        discussion: """
            Takes the newest snapshot before the moment and feeds it what the logs hold after that. Works beside a running \
            pipeline and without one.

              belfry state Pipelines/quickstart.yaml devices
              belfry state Pipelines/quickstart.yaml subscriptions --at 1000 --user _alice
              belfry state Pipelines/quickstart.yaml pending --at 2026-11-20T09:30:00Z
              belfry state Pipelines/quickstart.yaml badges --at -10m --logs out | jq .

            subscriptions: those that match watches with; devices: those that deliver sends to; pending: what coalesce \
            holds back, and what deliver is to send again; badges: payload's counters; records: what ingest last saw. A \
            number is a sequence of the source's log: the moment just after that event has passed.
            """)

    @Argument(help: "A pipeline file, its data folder, or a folder of logs.", completion: .file())
    var pipeline: String

    @Argument(help: "Which state: subscriptions, devices, pending, badges or records.")
    var state: String

    @Option(
        parsing: .unconditional,
        help: "A sequence of the source's log, a time (RFC 3339), or so long before its end (-10m) (default: the end).")
    var at: LogPosition?

    @Option(help: "The logs: a folder of logs or a data folder (default: the pipeline's).", completion: .directory)
    var logs: String?

    @Option(help: "Show what concerns this user alone.")
    var user: String?

    @OptionGroup var output: JSONOption

    func run() throws {
        let recorded = try RecordedPlace(pipeline, logs: logs).recorded
        try AbsentLogs.checkGaps(in: logs ?? pipeline)
        let position = try Self.position(at, in: recorded)
        let states = PipelineState(recorded, MachineFactory(registry: .builtIns)) {
            StandardError.write("snapshot passed over: \($0)")
        }
        guard let text = try states.lines(state, at: position) else {
            let names = states.names.isEmpty ? "none" : states.names.joined(separator: ", ")
            throw ToolFailure(.usage, "no stage of \(pipeline) has a state '\(state)'; there are: \(names)")
        }
        let table = try StateTable(text, user: user, needsRows: !output.isWanted)
        try output.print(table.rows, json: table.lines)
    }

    /// What lies beyond the end is the end.
    private static func position(_ at: LogPosition?, in recorded: RecordedPipeline) throws -> PipelinePosition {
        let position = try PipelinePosition(at, of: recorded)
        let changes = recorded.stages[0].log
        guard changes.ends(before: position) else { return position }
        StandardError.write(
            "\(changes.name) ends at \(changes.lastSequence), before \(position.text): this is how it is at the end")
        return .end
    }
}
