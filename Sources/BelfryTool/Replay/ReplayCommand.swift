import ArgumentParser
import BuiltIns
import EventLog
import PipelineKit
import PipelineRuntime
import Replay

struct ReplayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Re-runs stages over recorded logs and compares, byte for byte.",
        discussion: """
            Feeds each stage what the log before it holds, at the recorded times, with the answers that transports gave \
            then, and compares what it says with its own log. The source's log is the input: it is only read back.

              belfry replay Pipelines/quickstart.yaml
              belfry replay Pipelines/quickstart.yaml --logs out
              belfry replay Pipelines/quickstart.yaml --stage match coalesce --json

            Prints `identical` and exits with 0, or prints the first difference (log, sequence, JSON pointer, both \
            values, and the event that led there) and exits with 1. Damaged logs exit with 65. Nothing is written and \
            nothing is sent.
            """)

    @Argument(help: "The pipeline file.", completion: .file(extensions: ["yaml", "yml"]))
    var pipeline: String

    @Option(help: "The logs: a folder of logs or a data folder (default: the pipeline's).", completion: .directory)
    var logs: String?

    @Option(name: .customLong("stage"), parsing: .upToNextOption, help: "Re-run these stages alone.")
    var stages: [String] = []

    @Flag(help: "Print one JSON object: result, difference, stages.")
    var json = false

    func run() async throws {
        let checked = try CheckedPipeline(path: pipeline)
        for name in stages { _ = try checked.stage(name) }
        let recorded = try RecordedPipeline(checked.file, logs: try LogPlace.folder(logs ?? pipeline))
        let replay = PipelineReplay(
            recorded, MachineFactory(registry: .builtIns), stages: stages.isEmpty ? nil : stages)
        let report = ReplayReport(try await ReplayDisplay.showing(replay.progress) { try await replay.run() })
        if json {
            try StandardOutput.write(line: report.json)
        } else {
            for line in report.notes { StandardError.write(line) }
            for line in report.lines { try StandardOutput.write(line: line) }
        }
        if report.difference != nil { throw ToolFailure(.no) }
    }
}
