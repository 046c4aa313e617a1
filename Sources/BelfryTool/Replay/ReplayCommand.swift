import ArgumentParser
import BuiltIns
import EventLog
import PipelineKit
import PipelineRuntime
import Replay

struct ReplayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Re-runs stages over recorded logs and compares, byte for byte.",
        discussion: """
            Feeds each stage what the log before it holds, at the recorded times, with the answers that transports gave \
            then, and compares what it says with its own log. The source's log is the input: it is only read back.

              belfry replay Pipelines/quickstart.yaml
              belfry replay Pipelines/quickstart.yaml --logs out
              belfry replay Pipelines/quickstart.yaml --stage match coalesce --json
              belfry replay Pipelines/quickstart.yaml --stage match=../next/.build/debug/belfry-match
              belfry replay Pipelines/quickstart.yaml --only user=_alice
              belfry replay Pipelines/quickstart.yaml --from 2026-11-20T09:00:00Z --until 2026-11-20T10:00:00Z
              belfry replay Pipelines/quickstart.yaml --stage deliver --to console --speed 10

            Prints `identical` and exits with 0, or prints the first difference (log, sequence, JSON pointer, both \
            values, and the event that led there) and exits with 1. Damaged logs exit with 65. Nothing is written and \
            nothing is sent.
            """)

    @Argument(help: "The pipeline file.", completion: .file(extensions: ["yaml", "yml"]))
    var pipeline: String

    @Option(help: "The logs: a folder of logs or a data folder (default: the pipeline's).", completion: .directory)
    var logs: String?

    @Option(
        name: .customLong("stage"), parsing: .upToNextOption,
        help: "Re-run these stages alone; NAME=PATH: by that program, such as another build's belfry-match.")
    var stages: [StageChoice] = []

    @Option(help: "Compare what is about this alone: user=U, subscription=ID, record=NAME or stage=NAME.")
    var only: OnlyOption?

    @Option(help: "Compare from this sequence of the source's log on, or from this time (RFC 3339).")
    var from: LogPosition?

    @Option(help: "Compare up to this sequence of the source's log, or up to this time (RFC 3339).")
    var until: LogPosition?

    @Option(help: "Where the pushes go that the replay gives: console, file:PATH or null.")
    var to: ReplayTarget = .null

    @Option(help: "Give pushes at the recorded pace: 1 as it was, 10 ten times faster (default: as fast as it goes).")
    var speed: Double?

    @Flag(help: "Print one JSON object: result, difference, stages.")
    var json = false

    func validate() throws {
        if let speed, !(speed > 0) { throw ValidationError("--speed takes a number above 0") }
        if speed != nil, to == .null { throw ValidationError("--speed needs --to: only pushes are held back") }
    }

    /// Where pushes go to standard output, nothing else does.
    private func say(_ line: String) throws {
        if to == .console { StandardError.write(line) } else { try StandardOutput.write(line: line) }
    }

    private func parts(of recorded: RecordedPipeline) throws -> [String: StagePart] {
        guard from != nil || until != nil else { return [:] }
        return try ReplayRange(
            from: from.map { try PipelinePosition($0, of: recorded) },
            until: until.map { try PipelinePosition($0, of: recorded) }
        ).parts(of: recorded)
    }

    func run() async throws {
        let checked = try CheckedPipeline(path: pipeline)
        let programs = try StageChoice.programs(stages, of: checked)
        let names = stages.map(\.name) + (only?.stage.map { [$0] } ?? [])
        for name in names { _ = try checked.stage(name) }
        let recorded = try RecordedPipeline.find(checked, logs: logs)
        for stage in try recorded.stagesUnderOtherSettings where names.isEmpty || names.contains(stage) {
            StandardError.write(
                "\(stage) was recorded under other settings than \(pipeline) has now: the recorded ones count; see "
                    + "belfry whatif")
        }
        var replay = PipelineReplay(
            recorded, MachineFactory(registry: .builtIns, programs: programs),
            stages: names.isEmpty ? nil : names,
            parts: try parts(of: recorded))
        replay.problem = { StandardError.write("snapshot passed over: \($0)") }
        replay.notice = { StandardError.write($0) }
        replay.focus = only?.focus
        replay.watch = try to.pushes(speed: speed, only: only?.focus)
        let report = ReplayReport(
            try await ReplayDisplay.showing(replay.progress) { [replay] in try await replay.run() })
        if json {
            try StandardOutput.write(line: report.json)
        } else {
            for line in report.notes { StandardError.write(line) }
            for line in report.lines { try say(line) }
        }
        if report.difference != nil { throw ToolFailure(.no) }
    }
}
