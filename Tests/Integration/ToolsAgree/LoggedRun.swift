import EventLog
import Events
import Foundation
import PipelineKit
import TestSupport

@testable import Inspect

/// A pipeline and the logs that it made, with a plain reader for them: what tools say is held against it.
///
/// The reader is Foundation's, and shares nothing with the tools.
struct LoggedRun: @unchecked Sendable {
    /// An event of a log, decoded.
    struct Event {
        let sequence: UInt64
        let json: [String: Any]

        var type: String { text("type") }
        /// The changes that it names as its causes.
        var causes: [UInt64] { (json["causes"] as? [[String: Any]] ?? []).compactMap { number($0["sequence"]) } }

        func text(_ key: String) -> String { json[key] as? String ?? "" }
        func number(_ key: String) -> UInt64? { number(json[key]) }
        private func number(_ value: Any?) -> UInt64? { (value as? NSNumber)?.uint64Value }
    }

    let name: String
    let file: PipelineFile
    /// The folder of its logs.
    let logs: String
    private let owner: AnyObject

    /// - Parameter owner: What keeps the folder.
    init(_ name: String, _ file: PipelineFile, logs: String, owner: AnyObject) {
        (self.name, self.file, self.logs, self.owner) = (name, file, logs, owner)
    }

    var recorded: RecordedLogs { RecordedLogs(file: file, folder: logs) }

    /// The log of the stage of a kind.
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

    /// The same events in other words, in every log: as a stage would pass them on that writes JSON in its own way.
    func respelt(seed: UInt64) throws -> LoggedRun {
        let copy = try RewrittenLogs(of: logs)
        var spelling = OtherSpelling(seed: seed)
        for log in try LogPlace.logs(in: logs).map(LogPlace.name) {
            try copy.rewrite(log) { [spelling.line($1)] }
        }
        return LoggedRun("\(name), in other words", file, logs: copy.path, owner: copy)
    }
}
