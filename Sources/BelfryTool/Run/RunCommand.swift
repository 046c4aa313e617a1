import ArgumentParser
import Glibc
import PipelineRuntime

struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Runs a whole pipeline over finite input and prints the pushes.",
        discussion: """
            All stages run in this process on virtual time, which the input's "time" members move on: nothing waits, no \
            network is touched, and the same input gives the same bytes every time. Pushes that the pipeline would hand \
            to transports are printed instead, one JSON object a line. Logs are thrown away unless --logs names a folder.

              belfry run Pipelines/quickstart.yaml changes.ndjson
              generate-changes | belfry run Pipelines/quickstart.yaml > pushes.ndjson
              belfry run Pipelines/quickstart.yaml in.ndjson | diff - expected.ndjson
              belfry run Pipelines/quickstart.yaml in.ndjson --logs out; belfry log ls out

            The line {"type":"restart"} stops all stages, when its input so far is taken, and starts them again over the \
            same logs; what comes out is the same as without it.

            A line that is refused is reported as FILE:LINE: path: reason (code), the others are kept, and the exit \
            status is 65. It is also 65 where a later stage set an event aside: then the line is reported that the event \
            goes back to, with the log that the event came from, the reason (code) and the event. A warning is reported as FILE:LINE: warning: …, and its line is \
            kept.
            """)

    @Argument(help: "The pipeline file.", completion: .file(extensions: ["yaml", "yml"]))
    var pipeline: String

    @Argument(help: "Files of commands, one JSON object a line; - or none for standard input.", completion: .file())
    var inputs: [String] = []

    @Option(help: "Leave the logs in this folder, which must hold none.", completion: .directory)
    var logs: String?

    func run() async throws {
        let checked = try CheckedPipeline(path: pipeline)
        let sources = inputs.isEmpty ? [InputSource.standard] : inputs.map(InputSource.init(path:))
        try InputSource.check(sources)
        let folder = try LogsFolder(kept: logs, mode: checked.file.dataMode)
        defer { folder.remove() }
        let run = PipelineRun(checked.file, data: folder.data, sources: sources, writer: PushWriter())
        StopSignals.watch { number, _ in
            folder.remove()
            _exit(128 + number)
        }
        let totals = try await run.run()
        let setAside = try SetAside(by: checked.file, in: folder.data + "/logs", totals.taken)
        for line in setAside.report { StandardError.write(line) }
        guard totals.refused > 0 || setAside.count > 0 else { return }
        let more = setAside.count > 0 ? ", \(setAside.count.of("event")) set aside by later stages" : ""
        StandardError.write(totals.text + more)
        throw ToolFailure(.badData)
    }
}
