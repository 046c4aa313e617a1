import ArgumentParser
import EventLog
import Inspect
import JSON
import PipelineRuntime

struct LogVerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Reads whole logs and reports all damage.",
        discussion: """
            Checks that every CRC is correct, that sequences have no gaps, that time never goes back, and that each stage's \
            cursor fits the log that it reads. If a log has no problem, it also checks upstream.json, settings.ndjson, \
            consumers.json, the snapshots, the index and the journals beside the log. Exits with 1 after a problem, also \
            after an incomplete last batch. A damaged index, snapshot, crash journal or journal of pushes in flight is \
            only a note, since no event depends on it.

            An incomplete last batch is normal after a crash: the stage removes it when it starts, and no other event is \
            lost. Any other damage to a log stops the stage when it reads the damaged part; see `belfry log repair`. Prints \
            text on a terminal; otherwise, or with --json, one JSON object for each log.

              belfry log verify Pipelines/quickstart.yaml
              belfry log verify out/changes
              belfry log verify out | jq 'select(.sound | not)'
            """)

    @Argument(help: "A log's folder; or a pipeline file or a folder, for all its logs.", completion: .file())
    var place: String

    @OptionGroup var output: JSONOption

    func run() throws {
        var isSound = true
        let choice = try LogPlace.oneOrAll(place)
        for directory in choice.logs {
            let report = try verify(directory)
            let name = LogPlace.name(ofLogAt: directory)
            isSound = isSound && report.isSound
            try output.print(VerifyText.lines(name, report), json: [VerifyText.json(name, report)])
        }
        try AbsentLogs.check(choice.absent)
        if !isSound { throw ToolFailure(.no) }
    }

    private func verify(_ directory: String) throws -> VerifyReport {
        var progress = ReadingProgress(total: try LogPlace.bytes(of: directory))
        defer { progress.end() }
        var before: UInt64 = 0
        return try EventLogs.verify(directory: directory, checks: LogChecks.all) { report in
            progress.add(report.bytes - before)
            before = report.bytes
        }
    }
}

/// Describes the result of a verification, as lines for people or as JSON.
enum VerifyText {
    static func lines(_ name: String, _ report: VerifyReport) -> [String] {
        let size = "\(report.events.of("event")) in \(report.batches.of("batch")), \(byteText(report.bytes))"
        let problems = report.problems.map { line(name, $0) }
        let tail = report.tornTail.map { tail in
            "\(name): ends with an incomplete batch at byte \(tail.offset) of \(tail.file) (\(tail.reason)); no event before it is lost"
        }
        let notes = report.notes.map { "\(name): note: \($0.file): \($0.reason); no event is lost" }
        let verdict = report.isSound ? "sound" : report.problems.isEmpty ? "an incomplete last batch" : "damaged"
        return ["\(name): \(verdict), \(size)"] + problems + (tail.map { [$0] } ?? []) + notes
    }

    static func line(_ name: String, _ problem: VerifyReport.Problem) -> String {
        "\(name): \(problem.file), byte \(problem.offset), from sequence \(problem.sequence): \(problem.reason)"
    }

    static func json(_ name: String, _ report: VerifyReport) -> String {
        ByteBuffer.object {
            $0.append("name", name)
            $0.append("sound", report.isSound)
            $0.append("events", report.events)
            $0.append("batches", report.batches)
            $0.append("bytes", report.bytes)
            $0.append("problems", report.problems) { $0.append(raw: json($1)) }
            $0.append("notes", report.notes) { $0.append(raw: json($1)) }
            $0.append("tornTail", raw: report.tornTail.map(json))
        }.text
    }

    static func json(_ problem: VerifyReport.Problem) -> String {
        ByteBuffer.object {
            $0.append("file", problem.file)
            $0.append("offset", problem.offset)
            $0.append("sequence", problem.sequence)
            $0.append("reason", problem.reason)
        }.text
    }
}
