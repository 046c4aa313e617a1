import Foundation
import Inspect
import PipelineRuntime

/// `belfry trace ID --export FILE`.
enum CaseFile {
    /// Writes the smallest slice of a pipeline's inputs that still leads to an outcome, and tells on standard error
    /// what it holds and how to run it.
    ///
    /// - Parameters:
    ///   - pipeline: The pipeline file: its settings count.
    ///   - logs: Where the logs are instead of where the file has them.
    /// - Throws: ``ToolFailure`` with 73 where the file is there already.
    static func exportCase(
        _ target: CaseTarget, pipeline: String, logs: String?, to path: String, _ finder: any EventFinder
    ) throws {
        let logs = try RecordedLogs(place: pipeline, logs: logs)
        guard logs.isOwn else {
            throw ToolFailure(
                .usage,
                "a case is for `belfry run`, which takes the pipeline's file: name it with -p FILE, and the logs with --logs FOLDER"
            )
        }
        guard !FileManager.default.fileExists(atPath: path) else {
            throw ToolFailure(.cannotCreate, "\(path) is there already; name another file, or remove it")
        }
        let made = try CaseExport(logs: logs, finder: finder, seed: PipelineRun.standardSeed).make(target)
        do { try Data(made.text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic) } catch {
            throw ToolFailure(.cannotCreate, "cannot write \(path): \(error.localizedDescription)")
        }
        for line in made.notes { StandardError.write("note: \(line)") }
        StandardError.write("\(path): \(made.kept.of("input")) of \(made.all.grouped)")
        StandardError.write("run:    belfry run \(pipeline) \(path)")
        StandardError.write("expect: \(made.expectation)")
    }
}
