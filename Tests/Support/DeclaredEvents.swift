import EventLog
import Events
import Foundation
import JSON

/// Compares the events in logs with their declarations in `Events`.
package enum DeclaredEvents {
    /// How the events in the logs of a folder differ from their declarations. Each problem of a log is
    /// listed once.
    package static func problems(inLogsUnder folder: String) throws -> [String] {
        let logs = try FileManager.default.contentsOfDirectory(atPath: folder).sorted().map { folder + "/" + $0 }
        var problems: [String] = []
        var parser = JSONParser()
        for log in logs where FileManager.default.fileExists(atPath: log + "/log.json") {
            let reader = try EventLogReader(directory: log, from: .beginning)
            while let batch = try reader.next() {
                for line in batch.body.split(separator: UInt8(ascii: "\n")) {
                    for problem in try Self.problems(of: UnsafeRawBufferPointer(rebasing: line), &parser) {
                        let problem = "\(log.split(separator: "/").last ?? ""): \(problem)"
                        if !problems.contains(problem) { problems.append(problem) }
                    }
                }
            }
        }
        return problems
    }

    private static func problems(
        of line: UnsafeRawBufferPointer, _ parser: inout JSONParser
    ) throws -> [String] {
        let event = try parser.parse(line)
        guard let type = EventType.of(event) else {
            return ["\(event["type"]?.string ?? "an event without a type") is not declared"]
        }
        return type.problems(of: event).map { "\(type.name) \($0)" }
    }
}
