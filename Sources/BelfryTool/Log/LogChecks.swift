import EventLog
import PipelineRuntime

/// What `belfry log verify` checks beside the logs themselves.
enum LogChecks {
    static let all: [any LogCheck & Sendable] = [SettingsCheck(), SnapshotCheck(), IndexCheck()]
}

/// Without the settings that a log was made under, it cannot be replayed.
private struct SettingsCheck: LogCheck {
    func check(_ log: VerifiedLog) throws(EventLogError) -> [VerifyReport.Problem] {
        do throws(EventLogError) { _ = try SettingsHistory(logDirectory: log.directory) } catch {
            guard case .wrongSettings(let file, _, _) = error else { throw error }
            let reason = String(error.description.dropFirst(file.count + ", ".count))
            return [VerifyReport.Problem(file: file, offset: 0, sequence: 1, reason: reason)]
        }
        return []
    }
}

/// A stage passes a wrong snapshot over.
private struct SnapshotCheck: LogCheck {
    var isOfCache: Bool { true }

    func check(_ log: VerifiedLog) throws(EventLogError) -> [VerifyReport.Problem] {
        let summary = try EventLogs.summary(directory: log.directory)
        return try SnapshotStore(logDirectory: log.directory).check(summary).map {
            VerifyReport.Problem(file: $0.file, offset: 0, sequence: log.lastSequence, reason: $0.reason)
        }
    }
}

/// An index is made again when it is wrong.
private struct IndexCheck: LogCheck {
    var isOfCache: Bool { true }

    func check(_ log: VerifiedLog) throws(EventLogError) -> [VerifyReport.Problem] {
        guard LogPlace.isFolder(log.directory + "/index") else { return [] }
        return try LogIndex.verify(directory: log.directory, scheme: .trace).problems
    }
}
