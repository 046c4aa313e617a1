import ArgumentParser
import Glibc
import PipelineRuntime

struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Runs a whole pipeline over finite input and prints the pushes.",
        discussion: """
            All stages run in this process, except that a stage with a command runs as a child process. They run on \
            virtual time, which the "time" members of the input advance. Nothing waits, nothing uses the network, and \
            the same input gives the same bytes every time. Pushes are printed, one JSON object a line, instead of \
            going to transports. Logs are removed unless you name a folder with --logs.

              belfry run Pipelines/quickstart.yaml changes.ndjson
              generate-changes | belfry run Pipelines/quickstart.yaml > pushes.ndjson
              belfry run Pipelines/quickstart.yaml in.ndjson | diff - expected.ndjson
              belfry run Pipelines/quickstart.yaml in.ndjson --logs out; belfry log ls out

            The line {"type":"restart"} stops all stages after the lines before it, and starts them again over the same \
            logs. The output is the same as without it.

            A refused line is reported as FILE:LINE: path: reason (code). The other lines are accepted, and the exit status \
            is 65. It is also 65 if a later stage sets an event aside. Then the report names the input line of the \
            event (if it is known), the log, the reason (code) and the event. If the program of a stage answers with \
            an invalid event, the report names the stage and the events that the program was given. A warning is \
            reported as FILE:LINE: warning: …, and its line is accepted. A terminal shows the first 20 refused lines; \
            a file or a pipe gets all of them.
            """)

    @Argument(help: "The pipeline file.", completion: .file(extensions: ["yaml", "yml"]))
    var pipeline: String

    @Argument(help: "Files of commands, one JSON object a line; - or nothing for standard input.", completion: .file())
    var inputs: [String] = []

    @Option(help: "Keep the logs in this folder, which must not contain earlier logs.", completion: .directory)
    var logs: String?

    func run() async throws {
        let checked = try CheckedPipeline(path: pipeline)
        let sources = inputs.isEmpty ? [InputSource.standard] : inputs.map(InputSource.init(path:))
        try InputSource.check(sources)
        let folder = try LogsFolder(keepingLogsIn: logs, mode: checked.file.dataMode)
        defer { folder.remove() }
        let run = PipelineRun(checked.file, data: folder.data, sources: sources, writer: PushWriter())
        StopSignals.watch { number, _ in
            folder.remove()
            _exit(128 + number)
        }
        let totals = try await run.run()
        let setAside = try SetAsideReport(
            of: checked.file, logs: folder.data + "/logs", acceptedLines: totals.acceptedLines)
        for line in setAside.report { StandardError.write(line) }
        guard totals.refused > 0 || setAside.count > 0 else { return }
        let more = setAside.count > 0 ? ", \(setAside.count.of("event")) set aside by later stages" : ""
        StandardError.write(totals.text + more)
        throw ToolFailure(.badData)
    }
}
