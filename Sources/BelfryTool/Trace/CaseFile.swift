import Foundation
import Inspect
import PipelineRuntime

/// `belfry trace ID --export FILE`.
enum CaseFile {
    /// Writes a case (see ``CaseExport``) to a file, and prints on standard error how to run it.
    ///
    /// - Throws: ``ToolFailure`` with status 73 if the file exists or cannot be written, and with 64 if no pipeline
    ///   file is named; the errors of reading the logs and of ``CaseExport/make(_:)``.
    static func exportCase(
        _ target: CaseTarget, pipeline: String, logs: String?, to path: String, _ finder: any EventFinder
    ) throws {
        let logs = try RecordedLogs(place: pipeline, logs: logs)
        guard logs.isFileGiven else {
            throw ToolFailure(
                .usage,
                "an export needs the pipeline file, but '\(pipeline)' is not a file: name the pipeline file with -p FILE, and "
                    + "the logs with --logs FOLDER")
        }
        guard !FileManager.default.fileExists(atPath: path) else {
            throw ToolFailure(.cannotCreate, "\(path) exists already; name another file, or remove it")
        }
        let made = try CaseExport(logs: logs, finder: finder, seed: PipelineRun.standardSeed).make(target)
        do { try Data(made.text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic) } catch {
            throw ToolFailure(.cannotCreate, "cannot write \(path): \(error.localizedDescription)")
        }
        for line in made.notes { StandardError.write("note: \(line)") }
        StandardError.write("\(path): \(made.inputCount.of("input")) of \(made.eventCount.grouped)")
        StandardError.write("run:    belfry run \(pipeline) \(path)")
        StandardError.write("expect: \(made.expectation)")
    }
}
