import ArgumentParser
import Foundation
import Inspect
import PipelineKit

/// What `--stage` says: a stage by its name, and maybe the program that is to do its work.
struct StageChoice: ExpressibleByArgument {
    let name: String
    let program: String?

    init?(argument: String) {
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let name = parts.first, !name.isEmpty, parts.last != "" else { return nil }
        (self.name, program) = (name, parts.count > 1 ? parts[1] : nil)
    }

    /// Programs with their arguments, by the stages' names.
    static func programs(_ choices: [StageChoice], of checked: CheckedPipeline) throws -> [String: [String]] {
        var programs: [String: [String]] = [:]
        for choice in choices {
            let stage = try checked.stage(choice.name)
            guard let program = choice.program else { continue }
            guard stage.from != nil else {
                throw ToolFailure(.usage, "\(choice.name) is the source: its log is the input, and no program makes it")
            }
            guard !LogPlace.isFolder(checked.path) else {
                throw ToolFailure(
                    .usage,
                    "--stage \(choice.name)=\(program): the program reads its settings from the pipeline file; name that, and "
                        + "the logs with --logs")
            }
            programs[choice.name] = try command(program, choice.name, checked.path)
        }
        return programs
    }

    /// `belfry` itself is told which stage it is to be; any other program is taken to be one stage's.
    private static func command(_ program: String, _ stage: String, _ pipeline: String) throws -> [String] {
        guard FileManager.default.isExecutableFile(atPath: program) else {
            throw ToolFailure(.noInput, "\(program) is no program that can be started")
        }
        let isWhole = URL(fileURLWithPath: program).lastPathComponent == "belfry"
        let stageArguments = isWhole ? ["stage", stage] : ["--stage", stage]
        return [program] + stageArguments + ["--pipeline", pipeline, "--replay-worker"]
    }
}
