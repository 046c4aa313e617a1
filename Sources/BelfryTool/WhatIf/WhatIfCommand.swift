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
        abstract: "Says what other settings or subscriptions would have pushed.",
        discussion: """
            Runs the recorded pipeline beside one in which something is changed, step by step, and compares the pushes. \
            A push is the same by its notification, user, subscription and device. Nothing is written or sent.

              belfry whatif Pipelines/quickstart.yaml --set coalesce.window=5s
              belfry whatif Pipelines/quickstart.yaml --pipeline-b new.yaml --logs out
              belfry whatif Pipelines/quickstart.yaml --stage match=../next/.build/debug/belfry-match
              belfry whatif Pipelines/quickstart.yaml --with subscriptions.ndjson --json | jq .

            --with takes commands as ingest does: subscription.save, subscription.delete, device.register and \
            device.unregister. Each counts from its "time" on, or from the beginning, and from then on replaces the recorded ones of the \
            same subscription or device. Prints how many pushes would be new (+), gone (-) or different (~), for each \
            subscription with a change to look at (belfry trace). Exits with 0 where nothing differs, else with 1.
            """)

    @Argument(help: "A pipeline file, its data folder, or a folder of logs.", completion: .file())
    var pipeline: String

    @Option(help: "The logs: a folder of logs or a data folder (default: the pipeline's).", completion: .directory)
    var logs: String?

    @Option(name: .customLong("set"), help: "Another setting: STAGE.KEY=VALUE.")
    var settings: [String] = []

    @Option(help: "Another pipeline file with the same stages.", completion: .file(extensions: ["yaml", "yml"]))
    var pipelineB: String?

    @Option(
        name: .customLong("stage"), help: "Another build of a stage: NAME=PATH, such as match=../next/belfry-match.")
    var stages: [StageChoice] = []

    @Option(help: "Commands about subscriptions and devices, one JSON object a line.", completion: .file())
    var with: String?

    @Option(help: "Compare pushes about this alone: user=U, subscription=ID or record=NAME.")
    var only: OnlyOption?

    @Flag(help: "Print JSON, also on a terminal: an object for each subscription, then a summary.")
    var json = false

    func validate() throws {
        if settings.isEmpty, pipelineB == nil, with == nil, stages.isEmpty {
            throw ValidationError("nothing is changed: give --set, --pipeline-b, --with or --stage")
        }
        if only?.stage != nil {
            throw ValidationError("--only stage=NAME is for replay: whatif compares pushes, which all stages make")
        }
        if stages.contains(where: { $0.program == nil }) {
            throw ValidationError("--stage takes NAME=PATH: the stage and the program that is to do its work")
        }
    }

    func run() async throws {
        let place = try RecordedPlace(pipeline, logs: logs)
        let (checked, recorded) = (place.checked, place.recorded)
        var whatIf = try whatIf(recorded, checked)
        whatIf.focus = try only?.focus?.following(recorded)
        whatIf.notice = { StandardError.write($0) }
        let report = try await ReplayDisplay.showing([whatIf.progress]) { [whatIf] in try whatIf.run() }
        let text = WhatIfText(report)
        for line in json || !StandardOutput.isTerminal ? text.json : text.lines {
            try StandardOutput.write(line: line)
        }
        if !report.isSame { throw ToolFailure(.no) }
        if only != nil, report.pushes == 0 {
            throw ToolFailure(.noInput, "nothing was compared: no push is of what --only names, as it was or changed")
        }
    }

    /// - Throws: ``ToolFailure`` with 65, the file and the line for a command that cannot be taken.
    private func whatIf(_ recorded: RecordedPipeline, _ checked: CheckedPipeline) throws -> WhatIf {
        do { return try WhatIf(recorded, change(of: checked), registry: .builtIns) } catch ReplayError.badCommand(
            let line, let reason)
        {
            throw ToolFailure(.badData, "\(with ?? ""):\(line): \(reason)")
        }
    }
}
