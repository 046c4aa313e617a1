import ArgumentParser
import EventLog
import Foundation
import Inspect
import PipelineRuntime

struct LogExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Prints logs whole, as lines of JSON.",
        discussion: """
            For passing on: `belfry log import` makes logs of it that replay alike. A line for each log, segment and \
            batch, one for each event, and one for each change of a stage's settings. A torn last batch is left out. The \
            last line, {"end":...}, shows that the export is whole.

            The tokens of devices are masked: a token is replaced by digits of its SHA-256, the same for the same token \
            in every export. A token that was drawn at random cannot be found from them. Names and the contents of \
            records stay; `belfry trace ID --export` replaces those too. No secret of the pipeline file is in a log.

            With --with-tokens, nothing is masked: the import is the same logs, byte for byte, and a pipeline can go on \
            from them. Snapshots come along then where the beginning of a log was removed; a replay needs them.

              belfry log export Pipelines/quickstart.yaml > all.ndjson
              belfry log export out/changes | gzip > changes.ndjson.gz
              belfry log export Pipelines/quickstart.yaml --with-tokens > backup.ndjson
            """)

    @Argument(help: "A log, or a place: then all logs in it.", completion: .file())
    var place: String

    @Flag(help: "Leave the tokens of devices as they are: whoever has the export can send to the devices.")
    var withTokens = false

    func run() throws {
        let logs = try LogPlace.oneOrAll(place).whole()
        var progress = ReadingProgress(total: try logs.reduce(0) { $0 + (try LogPlace.bytes(of: $1)) })
        defer { progress.end() }
        let leftOut = try LogExport.run(directories: logs, mask: withTokens ? nil : TokenMask().forExport) { bytes in
            try StandardOutput.write(bytes)
            progress.add(UInt64(bytes.count))
        }
        guard !leftOut.isEmpty else { return }
        progress.end()
        StandardError.write(
            "left out: \(leftOut.count.of("snapshot")), in which tokens cannot be masked; a replay of logs whose beginning "
                + "was removed needs them: export with --with-tokens")
    }
}

struct LogImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Makes logs of an export.",
        discussion: """
            The logs are those that were exported: same identities, batches, times, cursors and segments. A log that \
            exists is not touched. A line that is wrong ends it, and none of the logs come to be. So does an export \
            that was cut off: --partial takes what there is of it, up to its last whole batch. Exports of earlier \
            versions have no last line that shows that they are whole: they want --partial too. Where the tokens of devices \
            were masked, the logs are for looking and replaying; a pipeline that goes on from them reaches no device.

              belfry log import all.ndjson --to .belfry/quickstart/logs
              gunzip -c changes.ndjson.gz | belfry log import - --to out
            """)

    @Argument(help: "A file that `belfry log export` printed; - is standard input.", completion: .file())
    var file: String

    @Flag(help: "Take what is there of an export that was cut off.")
    var partial = false

    @Option(help: "The folder for the logs. Made where it is missing.", completion: .directory)
    var to: String

    func run() throws {
        let names = try LogImportCommand.run(file, into: to, isPartial: partial) { StandardError.write($0) }
        StandardError.write("\(names.count.of("log")) in \(to): \(names.joined(separator: ", "))")
    }

    /// - Parameters:
    ///   - isPartial: Whether what is there of an export that was cut off is taken.
    ///   - notice: Told what is missing then.
    /// - Returns: The names of the logs that were made.
    static func run(
        _ file: String, into folder: String, isPartial: Bool = false, notice: (String) -> Void = { _ in }
    ) throws -> [String] {
        let name = file == "-" ? "standard input" : file
        guard let input = file == "-" ? fdopen(dup(StandardDescriptors.current.input), "r") : fopen(file, "r") else {
            throw ToolFailure(.noInput, "cannot read \(file): \(String(cString: strerror(errno)))")
        }
        defer { fclose(input) }
        var importer = try LogImporter(into: folder)
        var (line, room, number): (UnsafeMutablePointer<CChar>?, Int, UInt64) = (nil, 0, 0)
        defer { free(line) }
        do {
            while case let count = getline(&line, &room, input), count >= 0 {
                number += 1
                guard let start = line, count > 0, start[count - 1] == CChar(bitPattern: UInt8(ascii: "\n")) else {
                    if isPartial { break }
                    throw LogImportError(LogImporter.cut("the line does not end"))
                }
                try importer.take(UnsafeRawBufferPointer(start: start, count: count - 1))
            }
            if let missing = importer.missing {
                guard isPartial else { throw LogImportError(LogImporter.cut(missing)) }
                notice("\(name), line \(number): \(missing): taken without that")
            }
            try importer.finish()
            importer.leftOut.forEach(notice)
            if importer.isMasked {
                notice(
                    "the tokens of devices are masked: look at the logs and replay them, but let no pipeline go on from "
                        + "them, for it would reach no device (`belfry log export --with-tokens` keeps the tokens)")
            }
        } catch let error as EventLogError {
            throw error
        } catch {
            throw ToolFailure(.badData, "\(name), line \(number): \(error)")
        }
        return importer.logs
    }
}
