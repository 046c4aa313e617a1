import ArgumentParser
import Foundation
import Inspect
import PipelineKit

/// The value of `--stage`: `NAME`, or `NAME=PATH` to run the stage with another program.
struct StageChoice: ExpressibleByArgument {
    let name: String
    let program: String?

    init?(argument: String) {
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let name = parts.first, !name.isEmpty, parts.last != "" else { return nil }
        (self.name, program) = (name, parts.count > 1 ? parts[1] : nil)
    }

    /// For each stage with another program, the command that runs it.
    static func programs(_ choices: [StageChoice], of checked: CheckedPipeline) throws -> [String: [String]] {
        var programs: [String: [String]] = [:]
        for choice in choices {
            let stages = try checked.stages(choice.name)
            guard let program = choice.program else { continue }
            guard stages.allSatisfy({ $0.from != nil }) else {
                throw ToolFailure(.usage, "\(choice.name) is the source; its log is the input, so it is not re-run")
            }
            guard !LogPlace.isFolder(checked.path) else {
                throw ToolFailure(
                    .usage,
                    "--stage \(choice.name)=\(program): the program needs the pipeline file for its settings: name the file, "
                        + "and the logs with --logs")
            }
            for stage in stages { programs[stage.name] = try command(program, stage.name, checked.path) }
        }
        return programs
    }

    /// The command that runs a stage. The program is another build of `belfry`, or the program of one kind of stage,
    /// such as `belfry-match`.
    private static func command(_ program: String, _ stage: String, _ pipeline: String) throws -> [String] {
        guard FileManager.default.isExecutableFile(atPath: program) else {
            throw ToolFailure(.noInput, "\(program) does not exist or is not executable")
        }
        let isBelfry = URL(fileURLWithPath: program).lastPathComponent == "belfry"
        let stageArguments = isBelfry ? ["stage", stage] : ["--stage", stage]
        return [program] + stageArguments + ["--pipeline", pipeline, "--replay-worker"]
    }
}
