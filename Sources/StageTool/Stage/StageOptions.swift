import ArgumentParser
import PipelineKit

/// What every stage program takes.
struct StageOptions: ParsableArguments {
    @Option(name: .shortAndLong, help: "The pipeline file.", completion: .file(extensions: ["yaml", "yml"]))
    var pipeline: String

    @Option(help: "The stage's name in the file; needed where it has several of this kind.")
    var stage: String?

    @OptionGroup(visibility: .hidden) var worker: WorkerOptions

    /// Reads the file and checks it.
    func read(kind: String, _ registry: Registry) throws -> ReadStage {
        let checked = try CheckedPipeline(path: pipeline, of: registry)
        return ReadStage(checked, try checked.stage(self, kind: kind))
    }
}
