import EventLog
import Events
import Foundation
import PipelineKit
import TestSupport

@testable import Inspect

/// A pipeline, its logs and a simple reader of the logs, for comparison with the results of tools.
///
/// The reader decodes events with Foundation, not with the JSON parser of the tools.
struct LoggedRun: @unchecked Sendable {
    struct Event {
        let sequence: UInt64
        let json: [String: Any]

        var type: String { text("type") }
        /// The sequences of the changes in `causes`.
        var causes: [UInt64] { (json["causes"] as? [[String: Any]] ?? []).compactMap { number($0["sequence"]) } }

        func text(_ key: String) -> String { json[key] as? String ?? "" }
        func number(_ key: String) -> UInt64? { number(json[key]) }
        private func number(_ value: Any?) -> UInt64? { (value as? NSNumber)?.uint64Value }
    }

    let name: String
    let file: PipelineFile
    /// The folder of the logs.
    let logs: String
    private let owner: AnyObject

    /// - Parameter owner: The object that removes the folder of the logs when it is released; any object if the folder
    ///   stays.
    init(_ name: String, _ file: PipelineFile, logs: String, owner: AnyObject) {
        (self.name, self.file, self.logs, self.owner) = (name, file, logs, owner)
    }

    var recorded: RecordedLogs { RecordedLogs(file: file, folder: logs) }

    /// The name of a log in this pipeline.
    func log(_ log: LogKind) -> String { recorded.stage(writing: log)?.logName ?? log.rawValue }

    func events(of log: String) throws -> [Event] {
        let reader = try EventLogReader(directory: logs + "/" + log, from: .beginning)
        var events: [Event] = []
        while let batch = try reader.next() {
            for line in Data(batch.body).split(separator: UInt8(ascii: "\n")) {
                let json = try JSONSerialization.jsonObject(with: line) as? [String: Any] ?? [:]
                events.append(Event(sequence: UInt64(events.count + 1), json: json))
            }
        }
        return events
    }

    /// A copy of the logs in which the JSON of each event is formatted differently, as a plugin might write it.
    func reformatted(seed: UInt64) throws -> LoggedRun {
        let copy = try RewrittenLogs(of: logs)
        var formatter = OtherJSONFormat(seed: seed)
        for log in try LogPlace.logs(in: logs).map(LogPlace.name) {
            try copy.rewrite(log) { [formatter.line($1)] }
        }
        return LoggedRun("\(name), reformatted", file, logs: copy.path, owner: copy)
    }
}
