import ArgumentParser
import PipelineKit

/// What every stage program takes.
struct StageOptions: ParsableArguments {
    @Option(name: .shortAndLong, help: "The pipeline file.", completion: .file(extensions: ["yaml", "yml"]))
    var pipeline: String

    @Option(help: "The stage's name in the file; needed where it has several of this kind.")
    var stage: String?

    @OptionGroup(visibility: .hidden) var worker: WorkerOptions

    /// Checks what the file says.
    func read<Kind: StageKind>(_ text: PipelineText, _ kind: Kind.Type) throws -> ReadStage {
        let checked = try CheckedPipeline(text, of: Kind.registry)
        return ReadStage(checked, try checked.stage(self, kind: Kind.kind))
    }
}
