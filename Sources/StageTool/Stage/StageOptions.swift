import ArgumentParser
import PipelineKit

package enum HostOption {
    package static let help: ArgumentHelp =
        "This machine's name under `hosts` in the file; by default, the value of the environment variable BELFRY_HOST."
}

/// The options of every stage program.
struct StageOptions: ParsableArguments {
    @Option(name: .shortAndLong, help: "The pipeline file.", completion: .file(extensions: ["yaml", "yml"]))
    var pipeline: String

    @Option(help: "The stage's name in the file; needed if the file has several stages of this kind.")
    var stage: String?

    @Option(help: HostOption.help)
    var host: String?

    @OptionGroup(visibility: .hidden) var worker: WorkerOptions

    func read<Kind: StageKind>(_ text: PipelineText, _ kind: Kind.Type) throws -> LoadedStage {
        let checked = try CheckedPipeline(text, host: host, checkingOnlyStagesOf: Kind.registry).onHost()
        return LoadedStage(checked, try checked.stage(self, kind: Kind.kind))
    }
}
