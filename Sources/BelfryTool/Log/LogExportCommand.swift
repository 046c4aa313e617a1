import ArgumentParser
import EventLog
import Foundation
import Inspect
import PipelineRuntime

struct LogExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Prints whole logs as lines of JSON.",
        discussion: """
            `belfry log import` turns an export into logs again, which replay in the same way. The export has a line for \
            each log, segment, batch and event, and for each change of a stage's settings. An incomplete last batch is left \
            out. The last line, {"end":...}, shows that the export is complete.

            Device tokens are masked: a token is replaced by digits of a SHA-256 hash, which are the same in every export. \
            A token that was drawn at random cannot be computed from these digits. Names and the contents of records \
            are not masked; `belfry trace ID --export` replaces those too. The export contains no secrets of the \
            pipeline file, with one exception: a webhook's url that the file has in plain text and without a query.

            With --with-tokens, nothing is masked. Then an import makes the same logs, byte for byte, and a pipeline can \
            continue from them. Snapshots are included if the beginning of a log was removed, because a replay needs them.

              belfry log export Pipelines/quickstart.yaml > all.ndjson
              belfry log export out/changes | gzip > changes.ndjson.gz
              belfry log export Pipelines/quickstart.yaml --with-tokens > backup.ndjson
            """)

    @Argument(help: "A log's folder; or a pipeline file or a folder, for all its logs.", completion: .file())
    var place: String

    @Flag(help: "Do not mask device tokens. Keep such an export secret: a token is the address of a device.")
    var withTokens = false

    func run() throws {
        let logs = try LogPlace.oneOrAll(place).completeLogs()
        var progress = ReadingProgress(total: try logs.reduce(0) { $0 + (try LogPlace.bytes(of: $1)) })
        defer { progress.end() }
        let leftOut = try LogExport.run(directories: logs, mask: withTokens ? nil : TokenMask().forExport) { bytes in
            try StandardOutput.write(bytes)
            progress.add(UInt64(bytes.count))
        }
        guard !leftOut.isEmpty else { return }
        progress.end()
        StandardError.write(
            "left out \(leftOut.count.of("snapshot")), in which tokens cannot be masked; to replay logs whose beginning was "
                + "removed, export with --with-tokens")
    }
}

struct LogImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Turns an export into logs.",
        discussion: """
            The logs are the same as the exported ones: identities, batches, times, cursors and segments. An existing log \
            is never changed. After an invalid line, no log is made. The same is true for an export that was cut off, unless \
            you give --partial: then everything up to the last complete batch is imported. Exports of earlier versions have \
            no last line that shows that they are complete, so they need --partial too. If device tokens were masked, you \
            can look at the logs and replay them, but a pipeline that continues from them reaches no device.

              belfry log import all.ndjson --to .belfry/quickstart/logs
              gunzip -c changes.ndjson.gz | belfry log import - --to out
            """)

    @Argument(help: "A file that `belfry log export` printed; - is standard input.", completion: .file())
    var file: String

    @Flag(help: "Import an export that was cut off, up to its last complete batch.")
    var partial = false

    @Option(help: "The folder for the logs. It is made if it is missing.", completion: .directory)
    var to: String

    func run() throws {
        let names = try LogImportCommand.run(file, into: to, allowsCutOff: partial) { StandardError.write($0) }
        StandardError.write("\(names.count.of("log")) in \(to): \(names.joined(separator: ", "))")
    }

    /// - Parameters:
    ///   - allowsCutOff: Whether to import the complete batches of an export that was cut off.
    ///   - notice: Gets each message about parts that were not imported, and about masked tokens.
    /// - Returns: The names of the new logs.
    static func run(
        _ file: String, into folder: String, allowsCutOff: Bool = false, notice: (String) -> Void = { _ in }
    ) throws -> [String] {
        let name = file == "-" ? "standard input" : file
        guard let input = file == "-" ? fdopen(dup(StandardDescriptors.current.input), "r") : fopen(file, "r") else {
            throw ToolFailure(.noInput, "cannot read \(file): \(String(cString: strerror(errno)))")
        }
        defer { fclose(input) }
        var importer = try LogImporter(into: folder)
        var (line, capacity, number): (UnsafeMutablePointer<CChar>?, Int, UInt64) = (nil, 0, 0)
        defer { free(line) }
        do {
            while case let count = getline(&line, &capacity, input), count >= 0 {
                number += 1
                guard let start = line, count > 0, start[count - 1] == CChar(bitPattern: UInt8(ascii: "\n")) else {
                    if allowsCutOff { break }
                    throw LogImportError(LogImporter.cutOffMessage("the last line has no line feed"))
                }
                try importer.importLine(UnsafeRawBufferPointer(start: start, count: count - 1))
            }
            if ferror(input) != 0 {
                throw ToolFailure(.noInput, "cannot read \(name): \(String(cString: strerror(errno)))")
            }
            if let missing = importer.missing {
                guard allowsCutOff else { throw LogImportError(LogImporter.cutOffMessage(missing)) }
                notice("\(name), line \(number): \(missing); imported the complete batches before it")
            }
            try importer.finish()
            importer.leftOut.forEach(notice)
            if importer.isMasked {
                notice(
                    "the device tokens are masked: you can look at the logs and replay them, but a pipeline that continues "
                        + "from them reaches no device (`belfry log export --with-tokens` keeps the tokens)")
            }
        } catch let error as EventLogError {
            throw error
        } catch let failure as ToolFailure {
            throw failure
        } catch {
            let isNameTaken = (error as? LogImportError)?.isNameTaken ?? false
            throw ToolFailure(isNameTaken ? .cannotCreate : .badData, "\(name), line \(number): \(error)")
        }
        return importer.logs
    }
}
