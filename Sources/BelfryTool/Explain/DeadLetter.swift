import EventLog
import JSON
import PipelineKit

/// What a stage set aside, from the log of dead letters beside its own.
enum DeadLetter {
    static func find(_ sequence: UInt64, _ stage: PipelineStage, _ logs: RecordedLogs) throws -> Explanation? {
        let log = logs.log(of: stage) + ".dead-letters"
        guard LogPlace.isLog(log) else { return nil }
        var found: Explanation?
        _ = try LogScan.events(in: log, from: .epoch, marks: [#""sequence":\#(sequence),"#]) { event in
            guard event.json["sequence"]?.int64 == Int64(sequence) else { return }
            let reason = event.json["reason"]?.string ?? ""
            found = Explanation(
                stage.kind, stage.kind == "match" ? .changeRefused : .eventDeadLetter,
                "\(stage.name) could not use it: \(reason)",
                ["code", "path"].compactMap { key in event.json.member(key).map { .init(key, $0) } })
        } isEnough: { _ in
            found != nil
        }
        return found
    }
}
