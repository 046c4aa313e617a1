import ArgumentParser
import PipelineKit
import PipelineRuntime
import WebServices

struct UpCommand: AsyncParsableCommand, ReloadsOnHangup {
    static let configuration = CommandConfiguration(
        commandName: "up",
        abstract: "Starts every stage of a pipeline and keeps it running.",
        discussion: """
            Runs each stage as a process of its own, with this same program. A stage that ends is started again, after a \
            growing pause. But all stages are stopped if one refuses its configuration, or ends 4 times before it is \
            ready. With --in-process no stage is started again: if one fails, all stop. The whole file is checked \
            first: if it has a mistake, nothing is started. "ready" is printed when all stages run and the gateway, if \
            the file has one, accepts requests.

            Ctrl-C or SIGTERM stops all stages after their current batch. A second Ctrl-C kills them; no acknowledged event \
            is lost by that. Without --in-process, SIGHUP reloads the file: either all stages use the new settings, or \
            no stage does.

            If the file has `hosts`, start it on each of them with --host. A stage runs on one host. On the others it \
            stands by, and takes over when the first one is silent or stops. With --drain, the host that --host names \
            gives all its stages to others; it can then be stopped without a pause. The stages of a host go on without its \
            gateway: a gateway that ends before it is ready is started again until it succeeds.

              belfry up Pipelines/quickstart.yaml
              belfry up Pipelines/quickstart.yaml --in-process
              belfry up Pipelines/quickstart.yaml 2> up.log &
              belfry up pipeline.yaml --host b
              belfry up pipeline.yaml --host b --drain
            """)

    @Argument(help: "The pipeline file.", completion: .file(extensions: ["yaml", "yml"]))
    var pipeline: String

    @Flag(help: "Run all stages in this process, each on a thread of its own.")
    var inProcess = false

    @Option(help: HostOption.help)
    var host: String?

    @Flag(help: "Let other hosts take over the stages that run on this host, and wait until they have. Starts nothing.")
    var drain = false

    func run() async throws {
        let text = try PipelineText(forLongRunningProcess: pipeline)
        let checked = try CheckedPipeline(text, host: host).onHost()
        if drain { return try await DrainHost(checked).run() }
        try checked.checkKeys()
        if let error = try checked.missingGatewayKeys() { throw PipelineFileError([error]) }
        try DataFolder.prepare(checked.file.data, checked.file.dataMode)
        try await RunningStages(of: checked.file).waitForEnd()
        let status = try await inProcess ? InProcessUp(checked).run() : SupervisedUp(checked, text).run()
        if status != 0 { throw ExitCode(status) }
    }
}
