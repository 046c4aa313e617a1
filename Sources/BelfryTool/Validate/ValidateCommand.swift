import ArgumentParser
import Events
import JSON
import PipelineKit
import PipelineRuntime

struct ValidateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "validate",
        abstract: "Checks a pipeline file and starts nothing.",
        discussion: """
            Says everything that is wrong, each with line, column and what to write instead. Exits with 0 when the file \
            is right, else with 78.

            The file of a secret, {$file: PATH}, that is missing here, cannot be read, may be read by others or holds what \
            its transport cannot use is a warning, for a file may be checked on another machine than its stages run on: there a start refuses it. A \
            stage's secretKey that is here must belong to its publicKey; one that is not is such a warning. What \
            {$env: NAME} and {$credential: NAME} stand for is only there for a stage that runs, and is not looked for. \
            A secret that stands in the file in clear, and a certificate that is over or ends within 30 days, are warnings \
            too.

              belfry validate Pipelines/quickstart.yaml
              belfry validate --json Pipelines/quickstart.yaml | jq .valid
            """)

    @Argument(help: "The pipeline file.", completion: .file(extensions: ["yaml", "yml"]))
    var pipeline: String

    @Flag(help: "Print one JSON object: valid, errors and warnings (file, line, column, key, reason, hint).")
    var json = false

    func run() throws {
        do {
            let checked = try CheckedPipeline(path: pipeline)
            try checked.checkKeys(needsSecrets: false)
            let warnings = try checked.secretWarnings() + checked.certificateWarnings(at: .wall())
            if !json { for warning in warnings { StandardError.write("warning: \(warning)") } }
            try StandardOutput.write(line: json ? Self.report([], warnings) : summary(checked.file))
        } catch let error as PipelineFileError where json {
            try StandardOutput.write(line: ValidateCommand.report(error.errors))
            throw ToolFailure(.configuration)
        }
    }

    private func summary(_ file: PipelineFile) -> String {
        let stages = file.stagesInOrder.map { stage in stage.from.map { "\(stage.name) from \($0)" } ?? stage.name }
        return "\(pipeline) is valid: pipeline \(file.name), stages \(stages.joined(separator: ", "))"
    }

    static func report(_ errors: [SettingsError], _ warnings: [SettingsError] = []) -> String {
        ByteBuffer.object {
            $0.append("valid", errors.isEmpty)
            $0.append("errors", errors, write)
            $0.append("warnings", warnings, write)
        }.text
    }

    private static func write(to buffer: inout ByteBuffer, _ error: SettingsError) {
        buffer.object {
            $0.append("file", error.file)
            $0.append("line", error.line)
            $0.append("column", error.column)
            $0.append("key", error.keyPath)
            $0.append(.reason, error.reason)
            $0.append("hint", error.hint)
        }
    }
}
