import ArgumentParser
import JSON
import PipelineKit

struct ValidateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "validate",
        abstract: "Checks a pipeline file and starts nothing.",
        discussion: """
            Says everything that is wrong, each with line, column and what to write instead. Exits with 0 when the file \
            is right, else with 78.

              belfry validate Pipelines/quickstart.yaml
              belfry validate --json Pipelines/quickstart.yaml | jq .valid
            """)

    @Argument(help: "The pipeline file.", completion: .file(extensions: ["yaml", "yml"]))
    var pipeline: String

    @Flag(help: "Print one JSON object: valid, errors (file, line, column, key, reason, hint).")
    var json = false

    func run() throws {
        do {
            let checked = try CheckedPipeline(path: pipeline)
            try checked.checkKeys()
            try StandardOutput.write(line: json ? #"{"valid":true,"errors":[]}"# : summary(checked.file))
        } catch let error as PipelineFileError where json {
            try StandardOutput.write(line: ValidateCommand.report(error.errors))
            throw ToolFailure(.configuration)
        }
    }

    private func summary(_ file: PipelineFile) -> String {
        let stages = file.stagesInOrder.map { stage in stage.from.map { "\(stage.name) from \($0)" } ?? stage.name }
        return "\(pipeline) is valid: pipeline \(file.name), stages \(stages.joined(separator: ", "))"
    }

    static func report(_ errors: [SettingsError]) -> String {
        var buffer = ByteBuffer()
        buffer.append("{\"valid\":false,\"errors\":[")
        for (index, error) in errors.enumerated() {
            if index > 0 { buffer.append(",") }
            write(error, to: &buffer)
        }
        buffer.append("]}")
        return buffer.text
    }

    private static func write(_ error: SettingsError, to buffer: inout ByteBuffer) {
        buffer.append("{\"file\":")
        buffer.appendJSON(error.file)
        buffer.append(",\"line\":")
        buffer.appendJSON(error.line)
        buffer.append(",\"column\":")
        buffer.appendJSON(error.column)
        buffer.append(",\"key\":")
        buffer.appendJSON(error.keyPath)
        buffer.append(",\"reason\":")
        buffer.appendJSON(error.reason)
        if let hint = error.hint {
            buffer.append(",\"hint\":")
            buffer.appendJSON(hint)
        }
        buffer.append("}")
    }
}
