import BuiltIns
import Foundation
import PipelineKit
import PipelineRuntime
import Replay

extension WhatIfCommand {
    func change(of checked: CheckedPipeline) throws -> WhatIfChange {
        var file = try pipelineB.map { try CheckedPipeline(path: $0).file } ?? checked.file
        for setting in settings { file = try WhatIfCommand.apply(setting, to: file) }
        var change = WhatIfChange(file)
        change.programs = try StageChoice.programs(stages, of: checked)
        if let with { change.commands = try WhatIfCommand.commands(in: with) }
        return change
    }

    private static func apply(_ setting: String, to file: PipelineFile) throws -> PipelineFile {
        let parts = setting.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let keys = parts[0].split(separator: ".").map(String.init)
        guard parts.count == 2, keys.count >= 2 else {
            throw ToolFailure(.usage, "--set takes STAGE.KEY=VALUE, such as coalesce.window=5s, not '\(setting)'")
        }
        guard let stage = file.stages(named: keys[0]).first else {
            let names = file.stagesInOrder.map(\.name).joined(separator: ", ")
            throw ToolFailure(.usage, "--set \(setting): there is no stage \(keys[0]); the stages: \(names)")
        }
        try check(keys[1], of: stage, setting)
        let changed = file.setting(Array(keys.dropFirst()), ofStage: keys[0], to: String(parts[1]))
        do throws(PipelineFileError) {
            try changed.forEachStage(StageCheck(registry: .builtIns).callAsFunction)
        } catch {
            let reasons = error.errors.map { $0.reason + ($0.hint.map { "; \($0)" } ?? "") }
            throw ToolFailure(.usage, "--set \(setting): \(reasons.joined(separator: "; "))")
        }
        return changed
    }

    /// Refuses every key of the source. For other stages, refuses keys that do not belong to the stage's settings:
    /// `from`, for example.
    private static func check(_ key: String, of stage: PipelineStage, _ setting: String) throws {
        guard stage.from != nil else {
            throw ToolFailure(
                .usage,
                "--set \(setting): \(stage.name) is the source, and its log is the input; change the input with --with")
        }
        let keys = try Registry.builtIns.settingsKeys(of: stage)
        guard !keys.contains(key) else { return }
        let known = keys.isEmpty ? "none" : keys.map { "\(stage.name).\($0)" }.joined(separator: ", ")
        throw ToolFailure(.usage, "--set \(setting): the stage has no such setting; you can set: \(known)")
    }

    private static func commands(in path: String) throws -> [String] {
        let text: String
        do { text = try String(contentsOfFile: path, encoding: .utf8) } catch {
            throw ToolFailure(.noInput, "cannot read \(path): \(error.localizedDescription)")
        }
        return text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }
}
