import ArgumentParser
import EventLog
import Foundation
import JSON
import PipelineRuntime

struct LogExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Prints logs whole, as lines of JSON.",
        discussion: """
            Loses nothing: `belfry log import` makes the same logs of it, byte for byte, and they replay alike. A line \
            for each log, segment and batch, one for each event, and one for each change of a stage's settings. \
            Snapshots come along where the beginning of a log was removed. A torn last batch is left out. The last line, \
            {"end":...}, shows that the export is whole.

              belfry log export Pipelines/quickstart.yaml > all.ndjson
              belfry log export out/changes | gzip > changes.ndjson.gz
            """)

    @Argument(help: "A log, or a place: then all logs in it.", completion: .file())
    var place: String

    func run() throws {
        let logs = try LogPlace.oneOrAll(place).whole()
        var progress = ReadingProgress(total: try logs.reduce(0) { $0 + (try LogPlace.bytes(of: $1)) })
        defer { progress.end() }
        try LogExport.run(directories: logs) { bytes in
            try StandardOutput.write(bytes)
            progress.add(UInt64(bytes.count))
        }
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
            versions have no last line that shows that they are whole: they want --partial too.

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
        } catch let error as EventLogError {
            throw error
        } catch {
            throw ToolFailure(.badData, "\(name), line \(number): \(error)")
        }
        return importer.logs
    }
}
