import ArgumentParser
import PipelineKit
import PipelineRuntime

struct UpCommand: AsyncParsableCommand, HangupTaker {
    static let configuration = CommandConfiguration(
        commandName: "up",
        abstract: "Starts every stage of a pipeline and keeps it running.",
        discussion: """
            Each stage is a process of its own, of this same program; one that ends is started again, with growing pauses. The whole file is \
            checked first: with any mistake in it nothing is started. Says "ready" when every stage answers. Ctrl-C or \
            SIGTERM stops all stages after the batch in hand; a second Ctrl-C kills them, and nothing acknowledged is \
            lost by that. On SIGHUP the file is read again, and all stages go on with what is new, or none.

              belfry up Pipelines/quickstart.yaml
              belfry up Pipelines/quickstart.yaml --in-process
              belfry up Pipelines/quickstart.yaml 2> up.log &
            """)

    @Argument(help: "The pipeline file.", completion: .file(extensions: ["yaml", "yml"]))
    var pipeline: String

    @Flag(help: "Run all stages in this process, each on a thread of its own.")
    var inProcess = false

    func run() async throws {
        let text = try PipelineText(running: pipeline)
        let checked = try CheckedPipeline(text)
        try checked.checkKeys()
        try DataFolder.prepare(checked.file.data, checked.file.dataMode)
        try await RunningStages(of: checked.file).waitForEnd()
        let status = try await inProcess ? InProcessUp(checked).run() : SupervisedUp(checked, text).run()
        if status != 0 { throw ExitCode(status) }
    }
}
