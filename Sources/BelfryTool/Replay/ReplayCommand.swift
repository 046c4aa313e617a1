import ArgumentParser
import BuiltIns
import Inspect
import PipelineKit
import PipelineRuntime
import Replay
import TransportFile

extension FileTransport.Settings.Form: ExpressibleByArgument {}

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
              belfry replay Pipelines/quickstart.yaml --from -10m --only user=_alice --to apns --really-send
              belfry replay Pipelines/quickstart.yaml --only user=_alice --to file:pushes --as simctl

            Prints `identical` and exits with 0, or prints the first difference (log, sequence, JSON pointer, both \
            values, and the event that led there) and exits with 1; one JSON object where no terminal is. Damaged logs \
            exit with 65, and 66 says that nothing was compared. Nothing is written \
            to the logs. Nothing is sent, unless --to names one of the pipeline's transports and --really-send is given; \
            then pushes go out as they are replayed, up to the first difference, and it exits with 1 also where one is \
            refused.
            """)

    @Argument(help: "A pipeline file, its data folder, or a folder of logs.", completion: .file())
    var pipeline: String

    @Option(help: "The logs: a folder of logs or a data folder (default: the pipeline's).", completion: .directory)
    var logs: String?

    @Option(
        name: .customLong("stage"), parsing: .upToNextOption,
        help: "Re-run these stages alone; NAME=PATH: by that program, such as another build's belfry-match.")
    var stages: [StageChoice] = []

    @Option(
        help: "Compare what is about this alone, or came of it: user=U, subscription=ID, record=NAME or stage=NAME.")
    var only: OnlyOption?

    @Option(
        parsing: .unconditional,
        help:
            "Compare from this sequence of the source's log on, this time (RFC 3339), or so long before its end (-10m)."
    )
    var from: LogPosition?

    @Option(
        parsing: .unconditional,
        help: "Compare up to this sequence of the source's log, this time (RFC 3339), or so long before its end (-5m).")
    var until: LogPosition?

    @Option(
        help: ArgumentHelp(
            "Where the pushes go that the replay gives: console, file:PATH, null, or a transport of the pipeline file.",
            valueName: "target"))
    var to: ReplayTarget = .null

    @Option(
        name: .customLong("as"),
        help: "With --to file:PATH: ndjson, a file; or simctl, a folder of .apns files for `xcrun simctl push`.")
    var form = FileTransport.Settings.Form.ndjson

    @Flag(help: "With --to TRANSPORT: really send the pushes out again, through that transport.")
    var reallySend = false

    @Option(help: "Give pushes at the recorded pace: 1 as it was, 10 ten times faster (default: as fast as it goes).")
    var speed: Double?

    @Flag(help: "Print one JSON object, also on a terminal: result, difference, stages.")
    var json = false

    func validate() throws {
        if let speed, !(speed > 0) { throw ValidationError("--speed takes a number above 0") }
        if form == .simctl, !to.isFile { throw ValidationError("--as simctl needs --to file:FOLDER") }
        if reallySend, to.transport == nil {
            throw ValidationError("--really-send needs --to with a transport of the pipeline file, such as --to apns")
        }
    }

    /// - Parameter names: The stages that are re-run; empty for all.
    private func sending(_ checked: CheckedPipeline, _ names: [String], _ focus: ReplayFocus?) throws -> ReplaySending?
    {
        guard let name = to.transport else { return nil }
        let stages = checked.file.stagesInOrder.filter { names.isEmpty || names.contains($0.name) }
        let route = try ReplayRoute(name, of: stages, .builtIns)
        guard reallySend else { throw route.refusal }
        let transport = try Registry.builtIns.transport(route.binding) { try StandardOutput.write(line: $0) }
        return ReplaySending(route, transport, speed: speed, only: focus)
    }

    /// - Parameter hasPushes: Whether standard output is for pushes.
    private func tell(_ report: ReplayReport, hasPushes: Bool) throws {
        if json || !hasPushes && !StandardOutput.isTerminal { return try StandardOutput.write(line: report.json) }
        for line in report.lines {
            if hasPushes { StandardError.write(line) } else { try StandardOutput.write(line: line) }
        }
    }

    private func parts(of recorded: RecordedPipeline) throws -> [String: StagePart] {
        guard from != nil || until != nil else { return [:] }
        let range = ReplayRange(
            from: try from.map { try PipelinePosition($0, of: recorded) },
            until: try until.map { try PipelinePosition($0, of: recorded) })
        try range.check(recorded)
        for note in range.notes(on: recorded) { StandardError.write(note) }
        return try range.parts(of: recorded)
    }

    func run() async throws {
        let place = try RecordedPlace(pipeline, logs: logs)
        let (checked, recorded) = (place.checked, place.recorded)
        let programs = try StageChoice.programs(stages, of: checked)
        let names = stages.map(\.name) + (only?.stage.map { [$0] } ?? [])
        for name in names { _ = try checked.stage(name) }
        let focus = try only?.focus?.following(recorded)
        let sending = try sending(checked, names, focus)
        for stage in try recorded.stagesUnderOtherSettings(.builtIns) where names.isEmpty || names.contains(stage) {
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
        replay.focus = focus
        replay.watch = try sending ?? to.pushes(speed: speed, only: focus, as: form)
        let sent: @Sendable () -> String = { sending.map { ", \($0.sent.text)" } ?? "" }
        let results = try await ReplayDisplay.showing(replay.progress, more: sent) { [replay] in
            guard let sending else { return try await replay.run() }
            return try await sending.during(replay.run)
        }
        let report = ReplayReport(results, sent: sending?.sent)
        if !json { for line in report.notes { StandardError.write(line) } }
        try tell(report, hasPushes: to == .console || sending?.route.binding.kind == "console")
        if report.verdict == .nothing {
            let reason =
                only?.focus.map { "nothing there is about \($0.subject) \($0.name)" } ?? "nothing is recorded there"
            throw ToolFailure(.noInput, "nothing was compared: \(reason)")
        }
        if report.difference != nil || report.sent?.isWhole == false { throw ToolFailure(.no) }
    }
}
