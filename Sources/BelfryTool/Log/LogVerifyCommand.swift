import ArgumentParser
import EventLog
import JSON
import PipelineRuntime

struct LogVerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Reads logs whole and says what is wrong with them.",
        discussion: """
            Checks every batch's CRC, that sequences have no gaps and that time never goes back. Exits with 1 where \
            something is wrong. A last batch that is not whole is what a crash leaves: the stage cuts it off when it \
            starts, and no event before it is lost.

              belfry log verify Pipelines/quickstart.yaml
              belfry log verify out/changes
              belfry log verify out --json | jq 'select(.sound | not)'
            """)

    @Argument(help: "A log, or a place: then all logs in it.", completion: .file())
    var place: String

    @Flag(help: "Print one JSON object a log.")
    var json = false

    func run() throws {
        let directories = try directories()
        var isSound = true
        for directory in directories {
            let report = try EventLogs.verify(directory: directory)
            let name = LogPlace.name(ofLogAt: directory)
            isSound = isSound && report.isSound
            for line in json ? [VerifyText.json(name, report)] : VerifyText.lines(name, report) {
                try StandardOutput.write(line: line)
            }
        }
        if !isSound { throw ToolFailure(.no) }
    }

    private func directories() throws -> [String] {
        guard LogPlace.isPlace(place) else { return [try LogPlace.log(place, pipeline: nil)] }
        let logs = try LogPlace.logs(in: place)
        guard !logs.isEmpty else { throw ToolFailure(.noInput, "no logs in \(try LogPlace.folder(place))") }
        return logs
    }
}

/// What a verification found, for people and for programs.
enum VerifyText {
    static func lines(_ name: String, _ report: VerifyReport) -> [String] {
        let size = "\(report.events.of("event")) in \(report.batches.of("batch")), \(byteText(report.bytes))"
        let problems = report.problems.map { problem in
            "\(name): \(problem.file), byte \(problem.offset), from sequence \(problem.sequence): \(problem.reason)"
        }
        let tail = report.tornTail.map { tail in
            "\(name): ends in a batch that is not whole, at byte \(tail.offset) of \(tail.file) (\(tail.reason)); no event before is lost"
        }
        let verdict = report.isSound ? "sound" : report.problems.isEmpty ? "a torn tail" : "damaged"
        return ["\(name): \(verdict), \(size)"] + problems + (tail.map { [$0] } ?? [])
    }

    static func json(_ name: String, _ report: VerifyReport) -> String {
        var buffer = ByteBuffer()
        buffer.append("{\"name\":")
        buffer.appendJSON(name)
        buffer.append(",\"sound\":")
        buffer.appendJSON(report.isSound)
        buffer.append(",\"events\":")
        buffer.appendJSON(report.events)
        buffer.append(",\"batches\":")
        buffer.appendJSON(report.batches)
        buffer.append(",\"bytes\":")
        buffer.appendJSON(report.bytes)
        buffer.append(",\"problems\":[")
        for (index, problem) in report.problems.enumerated() {
            if index > 0 { buffer.append(",") }
            append(problem, to: &buffer)
        }
        buffer.append("]")
        if let tail = report.tornTail {
            buffer.append(",\"tornTail\":")
            append(tail, to: &buffer)
        }
        buffer.append("}")
        return buffer.text
    }

    private static func append(_ problem: VerifyReport.Problem, to buffer: inout ByteBuffer) {
        buffer.append("{\"file\":")
        buffer.appendJSON(problem.file)
        buffer.append(",\"offset\":")
        buffer.appendJSON(problem.offset)
        buffer.append(",\"sequence\":")
        buffer.appendJSON(problem.sequence)
        buffer.append(",\"reason\":")
        buffer.appendJSON(problem.reason)
        buffer.append("}")
    }
}
