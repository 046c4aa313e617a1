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
        abstract: "Re-runs stages over recorded logs and compares their output, byte for byte.",
        discussion: """
            Feeds each stage the events of its upstream log, at the recorded times and with the recorded answers of \
            transports. Then it compares the stage's output with its log. The source's log is the input, so the source is \
            not re-run.

              belfry replay Pipelines/quickstart.yaml
              belfry replay Pipelines/quickstart.yaml --logs out
              belfry replay Pipelines/quickstart.yaml --stage match coalesce --json
              belfry replay Pipelines/quickstart.yaml --stage match=../next/.build/debug/belfry-match
              belfry replay Pipelines/quickstart.yaml --only user=_alice
              belfry replay Pipelines/quickstart.yaml --from 2026-11-20T09:00:00Z --until 2026-11-20T10:00:00Z
              belfry replay Pipelines/quickstart.yaml --stage deliver --to console --speed 10
              belfry replay Pipelines/quickstart.yaml --from -10m --only user=_alice --to apns --really-send
              belfry replay Pipelines/quickstart.yaml --only user=_alice --to file:pushes --as simctl

            Prints `identical` and exits with 0. Or prints the first difference (log, sequence, JSON pointer, both values, \
            and the input event) and exits with 1. Without a terminal it prints one JSON object. If the pushes go to \
            standard output, it prints the result as text on standard error instead, unless you give --json. Exits \
            with 65 if logs are damaged, with 66 if nothing was compared. If --stage names only the source, replay \
            reads the source's log back and exits with 0. The logs are not changed.

            Nothing is sent, unless --to names a transport of the pipeline and you give --really-send. Then the \
            replayed pushes of this transport (with --only, those that it selects) are sent again, up to the batch \
            with the first difference of its stage. Replay then also exits with 1 unless the transport accepts all of \
            them.
            """)

    @OptionGroup var place: RecordedPlaceOptions

    @Option(
        name: .customLong("stage"), parsing: .upToNextOption,
        help: "Re-run only these stages; NAME=PATH runs another program, such as belfry-match of another build.")
    var stages: [StageChoice] = []

    @Option(
        help: """
            Compare only events about user=U, subscription=ID or record=NAME, and their effects; or re-run only one \
            stage: stage=NAME.
            """)
    var only: OnlyOption?

    @Option(
        parsing: .unconditional,
        help: """
            Begin with this sequence of the source's log, at this time (RFC 3339), or this long before the log's end \
            (-10m).
            """)
    var from: LogPosition?

    @Option(
        parsing: .unconditional,
        help: """
            End with this sequence of the source's log, at this time (RFC 3339), or this long before the log's end \
            (-5m).
            """)
    var until: LogPosition?

    @Option(
        help: ArgumentHelp(
            "Where the replayed pushes go: console, file:PATH, null, or a transport of the pipeline file.",
            valueName: "target"))
    var to: ReplayTarget = .null

    @Option(
        name: .customLong("as"),
        help: "With --to file:PATH: ndjson for a file; or simctl for a folder of .apns files for `xcrun simctl push`.")
    var form = FileTransport.Settings.Form.ndjson

    @Flag(help: "With --to TRANSPORT: really send the pushes again, through that transport.")
    var reallySend = false

    @Option(
        help: "Print or send pushes at recorded speed (1), ten times faster (10) ... (default: as fast as possible).")
    var speed: Double?

    @Flag(help: "Print one JSON object even on a terminal: result, difference, stages.")
    var json = false

    func validate() throws {
        if let speed, !(speed > 0) { throw ValidationError("--speed takes a number above 0, not \(speed)") }
        if form == .simctl, !to.isFile { throw ValidationError("--as simctl needs --to file:FOLDER") }
        if reallySend, to.transport == nil {
            throw ValidationError("--really-send needs --to with a transport of the pipeline file, such as --to apns")
        }
    }

    /// - Parameter names: The stages to re-run; empty for all.
    private func sending(
        _ checked: CheckedPipeline, _ names: [String], _ focus: ReplayFocus?
    ) throws -> ReplaySending? {
        guard let name = to.transport else { return nil }
        let route = try TransportRoute.forReplay(name, in: checked, stages: names)
        guard reallySend else { throw route.replayRefusal }
        let transport = try Registry.builtIns.transport(route.binding) { try StandardOutput.write(line: $0) }
        return ReplaySending(route, transport, speed: speed, only: focus)
    }

    /// If the pushes go to standard output, the report goes to standard error, unless it is JSON.
    private func write(_ report: ReplayReport, pushesGoToStandardOutput: Bool) throws {
        if json || !pushesGoToStandardOutput && !StandardOutput.isTerminal {
            return try StandardOutput.write(line: report.json)
        }
        for line in report.lines {
            if pushesGoToStandardOutput { StandardError.write(line) } else { try StandardOutput.write(line: line) }
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
        let found = try place.find()
        let (checked, recorded) = (found.checked, found.recorded)
        let programs = try StageChoice.programs(stages, of: checked)
        let names = try (stages.map(\.name) + [only?.stage].compactMap(\.self)).flatMap { try checked.stages($0) }
            .map(\.name)
        let focus = try only?.focus?.followingEffects(in: recorded)
        let sending = try sending(checked, names, focus)
        for stage in try recorded.stagesUnderOtherSettings(.builtIns) where names.isEmpty || names.contains(stage) {
            StandardError.write(
                "\(stage) was recorded with other settings than \(place.pipeline) has now; the replay uses the recorded ones "
                    + "(to try other settings, see belfry whatif)")
        }
        var replay = PipelineReplay(
            recorded, MachineFactory(registry: .builtIns, programs: programs), stages: names.isEmpty ? nil : names,
            parts: try parts(of: recorded))
        replay.problem = { StandardError.write("skipped a snapshot: \($0)") }
        replay.notice = { StandardError.write($0) }
        replay.focus = focus
        replay.watch = try sending ?? to.makeWatch(speed: speed, only: focus, as: form)
        let sent: @Sendable () -> String = { sending.map { ", \($0.sent.text)" } ?? "" }
        let results = try await ReplayDisplay.showing(replay.progress, more: sent) { [replay] in
            guard let sending else { return try await replay.run() }
            return try await sending.keepingTransportOpen(during: replay.run)
        }
        let report = ReplayReport(results, sent: sending?.sent)
        if !json { for line in report.notes { StandardError.write(line) } }
        try write(report, pushesGoToStandardOutput: to == .console || sending?.route.binding.kind == "console")
        if report.verdict == .nothing {
            let reason =
                only?.focus.map { focus in
                    "no event\(from ?? until == nil ? "" : " in this range") is about \(focus.subject) \(focus.name)"
                }
                ?? "the replayed stages have no recorded event to compare"
            throw ToolFailure(.noInput, "nothing was compared: \(reason)")
        }
        if report.difference != nil || report.sent?.areAllAccepted == false { throw ToolFailure(.no) }
    }
}
