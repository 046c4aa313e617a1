import EventLog
import Foundation
import Inspect
import RecordStore
import WebServices

/// Checks whether the gateway's store can be read and was made from the pipeline's log. Reports the last event in the
/// store, and the store's indexes.
struct StoreCheck: DoctorCheck {
    let name = "store"

    func findings(in target: DoctorTarget) throws -> [Finding] {
        guard let file = target.file, file.runsGateway else { return [] }
        let folder = StoreFolder(try GatewaySettings(of: file, path: target.path), of: file)
        guard FileManager.default.fileExists(atPath: folder.store) else {
            return [
                Finding(.note, "store.none", "\(folder.store): the gateway has not made its store yet", [:])
            ]
        }
        let rebuild =
            "stop the gateway (`belfry up`, if it runs the gateway), then run `belfry store rebuild \(target.path)`"
        do throws(RecordStoreError) {
            return [try Self.finding(StoreSummary(path: folder.store), folder.changesLogIfAny(), rebuild)]
        } catch {
            guard error.needsRebuild else { throw error }
            return [Finding(.error, "store.damaged", "\(error)", fix: rebuild, ["store": .text(folder.store)])]
        }
    }

    /// - Parameter log: The log of changes; nil if it cannot be read. Then the store is not compared with it.
    private static func finding(_ store: StoreSummary, _ log: LogSummary?, _ rebuild: String) -> Finding {
        let details: KeyValuePairs<String, ReportValue> = [
            "store": .text(store.path), "records": .count(store.records), "zones": .count(store.zones),
            "bytes": .count(store.bytes), "applied": .count(store.applied), "last": .count(log?.lastSequence ?? 0),
            "indexes": .list(store.indexes.map(\.report)),
        ]
        let comparison: String
        if let log {
            guard store.log == log.identity.description else {
                return Finding(
                    .error, "store.other_log",
                    "\(store.path) holds the records of log \(store.log); the pipeline's log is \(log.identity)",
                    fix: rebuild, details)
            }
            guard store.applied <= log.lastSequence else {
                return Finding(
                    .error, "store.ahead",
                    "\(store.path) contains event \(store.applied), but the log ends at \(log.lastSequence)",
                    fix: "restore the log, or \(rebuild)", details)
            }
            comparison = "the log ends at \(log.lastSequence)"
        } else {
            comparison = "the log of changes is missing or damaged"
        }
        return Finding(
            .ok, "store.whole", "\(store.text); \(comparison)", lines: store.indexes.map(\.text), details)
    }
}

extension StoreFolder {
    /// The log of changes; nil if it is missing, or if it is damaged, which ``LogsCheck`` reports.
    fileprivate func changesLogIfAny() -> LogSummary? {
        do throws(EventLogError) { return try changesLog() } catch { return nil }
    }
}
