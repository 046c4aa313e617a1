import ArgumentParser

/// What every stage program takes.
struct StageOptions: ParsableArguments {
    @Option(name: .shortAndLong, help: "The pipeline file.", completion: .file(extensions: ["yaml", "yml"]))
    var pipeline: String

    @Option(help: "The stage's name in the file; needed where it has several of this kind.")
    var stage: String?

    @OptionGroup(visibility: .hidden) var worker: WorkerOptions
}
