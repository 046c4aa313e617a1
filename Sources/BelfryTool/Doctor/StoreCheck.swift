import EventLog
import Foundation
import Inspect
import RecordStore
import WebServices

/// Checks the store of the gateway: whether it is intact and made from the pipeline's log, how far it is, and its indexes.
struct StoreCheck: DoctorCheck {
    let name = "store"

    func findings(in target: DoctorTarget) throws -> [Finding] {
        guard let file = target.file, file.api != nil else { return [] }
        let folder = StoreFolder(try GatewaySettings(of: file, path: target.place), of: file)
        guard FileManager.default.fileExists(atPath: folder.store) else {
            return [
                Finding(.note, "store.none", "\(folder.store): the gateway has not made its store yet", [:])
            ]
        }
        let rebuild = "stop the gateway, and `belfry store rebuild \(target.place)`"
        do throws(RecordStoreError) {
            return [try Self.finding(StoreSummary(path: folder.store), folder.changesLogIfAny(), rebuild)]
        } catch {
            return [Finding(.error, "store.damaged", "\(error)", fix: rebuild, ["store": .text(folder.store)])]
        }
    }

    private static func finding(_ store: StoreSummary, _ log: LogSummary?, _ rebuild: String) -> Finding {
        let last = log?.lastSequence ?? 0
        let details: KeyValuePairs<String, ReportValue> = [
            "store": .text(store.path), "records": .count(store.records), "zones": .count(store.zones),
            "bytes": .count(store.bytes), "applied": .count(store.applied), "last": .count(last),
            "indexes": .list(store.indexes.map(\.report)),
        ]
        if let log, store.log != log.identity.description {
            return Finding(
                .error, "store.other_log",
                "\(store.path) holds the records of log \(store.log); the pipeline's log is \(log.identity)",
                fix: rebuild, details)
        }
        if store.applied > last {
            return Finding(
                .error, "store.ahead", "\(store.path) has event \(store.applied); the log ends at \(last)",
                fix: "restore the log, or \(rebuild)", details)
        }
        return Finding(
            .ok, "store.whole", "\(store.text) of \(last)", lines: store.indexes.map(\.text), details)
    }
}

extension StoreFolder {
    /// Nil also for a damaged log, which ``LogsCheck`` reports.
    fileprivate func changesLogIfAny() -> LogSummary? {
        do throws(EventLogError) { return try changesLog() } catch { return nil }
    }
}
