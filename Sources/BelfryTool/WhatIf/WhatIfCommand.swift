import ArgumentParser
import BuiltIns
import Foundation
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

    @Argument(help: "The pipeline file.", completion: .file(extensions: ["yaml", "yml"]))
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
        let checked = try CheckedPipeline(path: pipeline)
        let recorded = try RecordedPipeline.find(checked, logs: logs)
        var whatIf = try WhatIf(recorded, try change(of: checked), registry: .builtIns)
        whatIf.focus = only?.focus
        whatIf.notice = { StandardError.write($0) }
        let report = try await ReplayDisplay.showing([whatIf.progress]) { [whatIf] in try whatIf.run() }
        let text = WhatIfText(report)
        for line in json || !StandardOutput.isTerminal ? text.json : text.lines {
            try StandardOutput.write(line: line)
        }
        if !report.isSame { throw ToolFailure(.no) }
    }

    private func change(of checked: CheckedPipeline) throws -> WhatIfChange {
        var file = try pipelineB.map { try CheckedPipeline(path: $0).file } ?? checked.file
        for setting in settings { file = try WhatIfCommand.apply(setting, to: file) }
        try file.forEachStage(StageCheck(registry: .builtIns).callAsFunction)
        var change = WhatIfChange(file)
        change.programs = try StageChoice.programs(stages, of: checked)
        if let with { change.commands = try WhatIfCommand.commands(in: with) }
        return change
    }

    private static func apply(_ setting: String, to file: PipelineFile) throws -> PipelineFile {
        let parts = setting.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let keys = parts[0].split(separator: ".").map(String.init)
        guard parts.count == 2, keys.count >= 2 else {
            throw ToolFailure(.usage, "--set takes STAGE.KEY=VALUE, as in coalesce.window=5s; got \(setting)")
        }
        guard file.stage(named: keys[0]) != nil else {
            let names = file.stagesInOrder.map(\.name).joined(separator: ", ")
            throw ToolFailure(.usage, "there is no stage \(keys[0]) to set; the stages: \(names)")
        }
        return file.setting(Array(keys.dropFirst()), ofStage: keys[0], to: String(parts[1]))
    }

    private static func commands(in path: String) throws -> [String] {
        let text: String
        do { text = try String(contentsOfFile: path, encoding: .utf8) } catch {
            throw ToolFailure(.noInput, "cannot read \(path): \(error.localizedDescription)")
        }
        return text.split(separator: "\n").map(String.init).filter { !$0.allSatisfy(\.isWhitespace) }
    }
}
