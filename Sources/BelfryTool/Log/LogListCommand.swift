import ArgumentParser
import EventLog
import Events
import Inspect
import JSON
import PipelineRuntime
import Time

struct LogListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls",
        abstract: "Lists the logs in a place: events, times, size.",
        discussion: """
            A table on a terminal; one JSON object a log otherwise, or with --json.

              belfry log ls Pipelines/quickstart.yaml
              belfry log ls out
              belfry log ls Pipelines/quickstart.yaml --json | jq -r '[.name, .last] | @tsv'
            """)

    @Argument(help: "A pipeline file, its data folder, or a folder of logs.", completion: .file())
    var place: String

    @Flag(help: "Print JSON, also on a terminal.")
    var json = false

    func run() throws {
        var logs: [LogSummary] = []
        var failures: [EventLogError] = []
        let absent = try AbsentLogs.find(in: place)
        for directory in try LogPlace.logs(in: place) {
            do throws(EventLogError) { logs.append(try EventLogs.summary(directory: directory)) } catch {
                failures.append(error)
            }
        }
        try show(logs)
        if logs.isEmpty, failures.isEmpty, absent.isEmpty {
            throw ToolFailure(.noInput, try LogPlace.nothing(in: place))
        }
        for failure in failures { StandardError.write(failure.description) }
        try AbsentLogs.check(absent + logs.compactMap { try AbsentLogs.gap(ofLogAt: $0.directory) })
        if let failure = failures.first { throw ToolFailure(ToolFailure.status(of: failure)) }
    }

    private func show(_ logs: [LogSummary]) throws(OutputError) {
        let asJSON = json || !StandardOutput.isTerminal
        for line in asJSON ? logs.map(LogTable.json) : LogTable.rows(logs) { try StandardOutput.write(line: line) }
    }
}

/// Logs as a table for people and as JSON for programs.
enum LogTable {
    static func rows(_ logs: [LogSummary]) -> [String] {
        guard !logs.isEmpty else { return [] }
        let cells = [["LOG", "EVENTS", "FIRST", "LAST", "SIZE", "IDENTITY"]] + logs.map(cells)
        let widths = cells[0].indices.map { column in cells.map { $0[column].count }.max() ?? 0 }
        return cells.map { row in
            row.enumerated().map { column, text in
                column == 1 || column == 4 ? text.leftPadded(to: widths[column]) : text.padded(to: widths[column])
            }.joined(separator: "  ")
        }
    }

    private static func cells(_ log: LogSummary) -> [String] {
        [
            log.name, (log.lastSequence + 1 - log.firstSequence).grouped, log.firstNow?.rfc3339 ?? "-",
            log.lastNow?.rfc3339 ?? "-", byteText(log.bytes), log.identity.description,
        ]
    }

    static func json(_ log: LogSummary) -> String {
        var buffer = ByteBuffer()
        buffer.append("{")
        buffer.append("name", log.name)
        buffer.append(.first, log.firstSequence)
        buffer.append(.last, log.lastSequence)
        buffer.append(",\"firstNow\":")
        append(log.firstNow, to: &buffer)
        buffer.append(",\"lastNow\":")
        append(log.lastNow, to: &buffer)
        buffer.append("bytes", log.bytes)
        buffer.append("segments", log.segments)
        buffer.append("identity", log.identity.description)
        buffer.append("directory", log.directory)
        buffer.append("tornTail", log.hasTornTail)
        buffer.append("}")
        return buffer.text
    }

    private static func append(_ time: Instant?, to buffer: inout ByteBuffer) {
        if let time { buffer.appendJSON(time.rfc3339) } else { buffer.append("null") }
    }
}
