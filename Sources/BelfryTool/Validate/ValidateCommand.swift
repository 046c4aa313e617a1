import ArgumentParser
import Events
import JSON
import PipelineKit
import PipelineRuntime
import WebServices

struct ValidateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "validate",
        abstract: "Checks a pipeline file and starts nothing.",
        discussion: """
            Reports the mistakes of all stages together, each with line, column and, if possible, a correction. CURVE \
            keys are checked only if the stages have no mistakes, and the gateway's settings only if the keys have \
            none. \
            Exits with 0 if the file is valid, with 78 if it has mistakes, and with 66 if it cannot be read.

            Some problems are only warnings here, because you may check the file on a machine that does not run its stages. \
            On the machine that runs the stages, these problems keep a stage or the gateway from starting: a \
            file in place of the data folder, a missing key file of a gateway that other machines may reach, and \
            secret files, {$file: PATH}, that are missing, cannot be read, can be read by other users, or do not fit \
            their transport or the gateway. If this command can read a stage's secretKey, the key must \
            belong to the stage's publicKey. {$env: NAME} and {$credential: NAME} are checked only if this command has \
            the variable or the credential. Secrets in the file itself, files below `tls` of `log` that cannot be read, \
            and certificates that have expired or expire within 30 days, are warnings too.

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
            try checked.checkGateway()
            let oneRow = CheckedPipeline(path: checked.path, file: checked.file.withoutLanes)
            let warnings =
                try oneRow.secretWarnings() + oneRow.certificateWarnings(at: .wall())
                + [DataFolder.error(in: checked.file), checked.missingGatewayKeys()].compactMap(\.self)
            if !json { for warning in warnings { StandardError.write("warning: \(warning)") } }
            try StandardOutput.write(line: json ? Self.report([], warnings) : summary(checked.file))
        } catch let error as PipelineFileError where json {
            try StandardOutput.write(line: ValidateCommand.report(error.errors))
            throw ToolFailure(.configuration)
        }
    }

    private func summary(_ file: PipelineFile) -> String {
        let stages = file.withoutLanes.stagesInOrder.map { stage in
            stage.from.map { "\(stage.name) from \($0)" } ?? stage.name
        }
        let lanes = file.lanes > 1 ? ", \(file.lanes) lanes" : ""
        return "\(pipeline) is valid: pipeline \(file.name)\(lanes), stages \(stages.joined(separator: ", "))"
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
