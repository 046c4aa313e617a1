import ArgumentParser
import BuiltIns
import Foundation
import Inspect
import PipelineKit
import PipelineRuntime
import Replay

struct WhatIfCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "whatif",
        abstract: "Shows what other settings or subscriptions would have pushed.",
        discussion: """
            Runs the recorded pipeline and a changed one side by side, and compares their pushes. Each push of one \
            pipeline is compared with the push of the other that has the same notification, user, subscription and \
            device. Nothing is written or sent.

              belfry whatif Pipelines/quickstart.yaml --set coalesce.window=5s
              belfry whatif Pipelines/quickstart.yaml --pipeline-b new.yaml --logs out
              belfry whatif Pipelines/quickstart.yaml --stage match=../next/.build/debug/belfry-match
              belfry whatif Pipelines/quickstart.yaml --with subscriptions.ndjson --json | jq .

            --with takes ingest commands: subscription.save, subscription.delete, device.register and device.unregister. \
            Each is used from its "time" on, or from the beginning if it has no "time", and replaces the later recorded \
            commands on the same subscription or device.

            For each subscription with a difference, prints how many pushes would be new (+), missing (-) or different \
            (~), and a change to look at with belfry trace. Exits with 0 if there is no difference, with 1 if there is \
            one, and with 66 if --only selects no push.
            """)

    @OptionGroup var place: RecordedPlaceOptions

    @Option(name: .customLong("set"), help: "A changed setting: STAGE.KEY=VALUE.")
    var settings: [String] = []

    @Option(help: "Another pipeline file with the same stages.", completion: .file(extensions: ["yaml", "yml"]))
    var pipelineB: String?

    @Option(
        name: .customLong("stage"), help: "Another build of a stage: NAME=PATH, such as match=../next/belfry-match.")
    var stages: [StageChoice] = []

    @Option(help: "Commands about subscriptions and devices, one JSON object a line.", completion: .file())
    var with: String?

    @Option(help: "Compare only pushes about this: user=U, subscription=ID or record=NAME.")
    var only: OnlyOption?

    @Flag(help: "Print JSON even on a terminal: an object for each subscription, then a summary.")
    var json = false

    func validate() throws {
        if settings.isEmpty, pipelineB == nil, with == nil, stages.isEmpty {
            throw ValidationError("give at least one change with --set, --pipeline-b, --with or --stage")
        }
        if only?.stage != nil {
            throw ValidationError("--only stage=NAME is for replay; whatif compares the pushes of the whole pipeline")
        }
        if let choice = stages.first(where: { $0.program == nil }) {
            throw ValidationError(
                "--stage takes NAME=PATH, a stage and a program to run it, not '\(choice.name.printable)'")
        }
    }

    func run() async throws {
        let found = try place.find()
        let (checked, recorded) = (found.checked, found.recorded)
        var whatIf = try whatIf(recorded, checked)
        whatIf.focus = try only?.focus?.followingEffects(in: recorded)
        whatIf.notice = { StandardError.write($0) }
        let report = try await ReplayDisplay.showing([whatIf.progress]) { [whatIf] in try whatIf.run() }
        let text = WhatIfText(report: report)
        for line in json || !StandardOutput.isTerminal ? text.json : text.lines {
            try StandardOutput.write(line: line)
        }
        if !report.isSame { throw ToolFailure(.no) }
        if only != nil, report.pushes == 0 {
            throw ToolFailure(.noInput, "nothing was compared: neither pipeline has a push that --only selects")
        }
    }

    /// - Throws: ``ToolFailure`` with status 65 for an invalid command. The message names the command's file and line.
    private func whatIf(_ recorded: RecordedPipeline, _ checked: CheckedPipeline) throws -> WhatIf {
        do { return try WhatIf(recorded, change(of: checked), registry: .builtIns) } catch ReplayError.badCommand(
            let line, let reason)
        {
            throw ToolFailure(.badData, "\(with ?? ""):\(line): \(reason)")
        }
    }
}
