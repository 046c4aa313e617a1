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
            Prints a table on a terminal; otherwise, or with --json, one JSON object for each log.

              belfry log ls Pipelines/quickstart.yaml
              belfry log ls out
              belfry log ls Pipelines/quickstart.yaml --json | jq -r '[.name, .last] | @tsv'
            """)

    @Argument(help: "A pipeline file, its data folder, or a folder of logs.", completion: .file())
    var place: String

    @OptionGroup var output: JSONOption

    func run() throws {
        var logs: [LogSummary] = []
        var failures: [EventLogError] = []
        let absent = try AbsentLogs.find(in: place)
        for directory in try LogPlace.logs(in: place) {
            do throws(EventLogError) { logs.append(try EventLogs.summary(directory: directory)) } catch {
                failures.append(error)
            }
        }
        try output.print(LogTable.rows(logs), json: logs.map(LogTable.json))
        if logs.isEmpty, failures.isEmpty, absent.isEmpty {
            throw ToolFailure(.noInput, try LogPlace.noLogsMessage(in: place))
        }
        for failure in failures { StandardError.write(failure.description) }
        try AbsentLogs.check(absent + logs.compactMap { try AbsentLogs.gap(ofLogAt: $0.directory) })
        if let failure = failures.first { throw ToolFailure(ToolFailure.status(of: failure)) }
    }
}

/// Describes logs, as a table for people or as JSON.
enum LogTable {
    static func rows(_ logs: [LogSummary]) -> [String] {
        guard !logs.isEmpty else { return [] }
        var table = TextTable(
            ["LOG", "EVENTS", "FIRST", "LAST", "SIZE", "IDENTITY"], leftColumns: [0, 2, 3, 5])
        for log in logs {
            table.add(
                log.name, log.events.grouped, log.firstNow?.rfc3339 ?? "-", log.lastNow?.rfc3339 ?? "-",
                byteText(log.bytes), log.identity.description)
        }
        return table.lines
    }

    static func json(_ log: LogSummary) -> String {
        func text(_ time: Instant?) -> String { time.map { "\"\($0.rfc3339)\"" } ?? "null" }
        return ByteBuffer.object {
            $0.append("name", log.name)
            $0.append(.first, log.firstSequence)
            $0.append(.last, log.lastSequence)
            $0.append("firstNow", raw: text(log.firstNow))
            $0.append("lastNow", raw: text(log.lastNow))
            $0.append("bytes", log.bytes)
            $0.append("segments", log.segments)
            $0.append("identity", log.identity.description)
            $0.append("directory", log.directory)
            $0.append("tornTail", log.hasTornTail)
        }.text
    }
}
