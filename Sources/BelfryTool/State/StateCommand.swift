import ArgumentParser
import BuiltIns
import Inspect
import PipelineRuntime
import Replay

struct StateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "state",
        abstract: "Shows the state of a stage at any time: subscriptions, devices, pending, badges, records.",
        discussion: """
            Restores the stage from its newest snapshot before the time of --at, and feeds it the later events up to \
            this time. Works whether the pipeline is running or not.

              belfry state Pipelines/quickstart.yaml devices
              belfry state Pipelines/quickstart.yaml subscriptions --at 1000 --user _alice
              belfry state Pipelines/quickstart.yaml pending --at 2026-11-20T09:30:00Z
              belfry state Pipelines/quickstart.yaml badges --at -10m --logs out | jq .

            subscriptions are match's subscriptions; devices are deliver's devices; pending are the notifications that \
            coalesce holds back, and what deliver has not ended: deferred pushes, pushes that are held because the \
            push service rejects all pushes of their app, and notices to the app's backend; badges are payload's \
            counters; records are ingest's records with their last known fields. A number for --at is a sequence of \
            the log of the pipeline's first stage, whichever state is shown: the state just after that event.
            """)

    @OptionGroup var place: RecordedPlaceOptions

    @Argument(help: "The state to show: subscriptions, devices, pending, badges or records.")
    var state: String

    @Option(
        parsing: .unconditional,
        help: """
            A sequence of the first stage's log, a time (RFC 3339), or a duration before the log's end (-10m) (default: \
            the end).
            """)
    var at: LogPosition?

    @Option(help: "Show only this user.")
    var user: String?

    @OptionGroup var output: JSONOption

    func run() throws {
        let recorded = try place.find().recorded
        try AbsentLogs.checkGaps(in: place.logs ?? place.pipeline)
        let position = try Self.position(at, in: recorded)
        let states = PipelineState(recorded, MachineFactory(registry: .builtIns)) {
            StandardError.write("skipped a snapshot: \($0)")
        }
        guard let text = try states.lines(state, at: position) else {
            let names = states.names.isEmpty ? "none" : states.names.joined(separator: ", ")
            throw ToolFailure(.usage, "no stage of \(place.pipeline) has a state '\(state)'; available: \(names)")
        }
        let table = try StateTable(text, user: user, needsRows: !output.isJSON)
        try output.print(table.rows, json: table.lines)
    }

    /// A position after the end means the end.
    private static func position(_ at: LogPosition?, in recorded: RecordedPipeline) throws -> PipelinePosition {
        let position = try PipelinePosition(at, of: recorded)
        let changes = recorded.stages[0].log
        guard changes.ends(before: position) else { return position }
        StandardError.write(
            "\(changes.name) ends at \(changes.lastSequence), before \(position.text); this is the state at the end of all logs"
        )
        return .end
    }
}
