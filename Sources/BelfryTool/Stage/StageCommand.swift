import ArgumentParser
import BuiltIns

/// Runs one stage of any kind. `belfry up` starts its stages with it.
struct StageCommand: AsyncParsableCommand, ReloadsOnHangup {
    static let configuration = CommandConfiguration(
        commandName: "stage",
        abstract: "Runs one stage of a pipeline in this process.",
        discussion: """
              belfry stage match -p Pipelines/quickstart.yaml
            """,
        shouldDisplay: false)

    @Argument(help: "The stage's name in the pipeline file.")
    var name: String

    @Option(name: .shortAndLong, help: "The pipeline file.", completion: .file(extensions: ["yaml", "yml"]))
    var pipeline: String

    @Option(help: HostOption.help)
    var host: String?

    @OptionGroup(visibility: .hidden) var worker: WorkerOptions

    func run() async throws {
        guard !worker.replayWorker else { return try worker.run(.builtIns) }
        try await StageRunner(.builtIns, pipeline) { [name, host] in
            let checked = try CheckedPipeline($0, host: host).onHost()
            return LoadedStage(checked, try checked.stage(name))
        }.run()
    }
}
