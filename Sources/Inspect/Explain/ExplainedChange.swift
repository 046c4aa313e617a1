import EventLog
import Events
import JSON
import StageTool

/// The change that a question is about.
package struct ExplainedChange {
    let event: LoggedEvent
    let type: String
    let database: String
    let owner: ExactText?
    let recordName: String
    let recordType: String?
    let zone: String
    let origin: (user: String, device: String?)?

    var sequence: UInt64 { event.sequence }
    var isRecord: Bool { type == "record.save" || type == "record.delete" }

    /// - Throws: ``ToolFailure`` with 66 if the log does not contain the change.
    package init(_ sequence: UInt64, in logs: RecordedLogs) throws {
        let log = logs.log(of: logs.stages[0])
        let summary = try EventLogs.summary(directory: log)
        guard sequence >= summary.firstSequence, sequence <= summary.lastSequence,
            let event = try LogScan.event(sequence, in: log)
        else { throw ExplainedChange.unknown(sequence, summary) }
        try self.init(event)
    }

    init(_ event: LoggedEvent) throws {
        self.event = event
        (type, database, owner, recordName, recordType, zone, origin) = try event.withJSON { json in
            let record = json[.record]
            let origin = json[.origin].flatMap { origin in
                origin[.user]?.string.map { (user: $0, device: origin[.device]?.string) }
            }
            return (
                json[.type]?.string ?? "?", json[.database]?.string ?? "?", json[.owner]?.exact,
                record?[.recordName]?.string ?? "?", record?[.recordType]?.string ?? json[.recordType]?.string,
                record?[.zoneID]?[.zoneName]?.string ?? "_defaultZone", origin
            )
        }
    }

    private static func unknown(_ sequence: UInt64, _ summary: LogSummary) -> ToolFailure {
        guard summary.lastSequence >= summary.firstSequence else {
            return ToolFailure(.noInput, "there is no change \(sequence): the log \(summary.name) is empty")
        }
        return ToolFailure(
            .noInput,
            "there is no change \(sequence) in \(summary.name), which contains \(summary.firstSequence) to "
                + "\(summary.lastSequence)")
    }

    /// A description such as `record.save of Note n1 in _alice's private database, zone Notes, by _alice on alice-mac`.
    /// Only the type if the event is not a change of a record.
    var text: String {
        guard isRecord else { return type }
        let place = database == "public" ? "the public database" : "\(owner?.string ?? "?")'s \(database) database"
        let by = origin.map { ", by \($0.user)" + ($0.device.map { " on \($0)" } ?? "") } ?? ""
        return "\(type) of \(recordType.map { $0 + " " } ?? "")\(recordName) in \(place), zone \(zone)\(by)"
    }
}
