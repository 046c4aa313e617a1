import EventLog

/// What `belfry log verify` checks beside the logs themselves.
enum LogChecks {
    static let all: [any LogCheck & Sendable] = [SnapshotCheck(), IndexCheck()]
}

/// A stage passes a wrong snapshot over; but it was made for something.
private struct SnapshotCheck: LogCheck {
    func check(_ log: VerifiedLog) throws(EventLogError) -> [VerifyReport.Problem] {
        let summary = try EventLogs.summary(directory: log.directory)
        return try SnapshotStore(logDirectory: log.directory).check(summary).map {
            VerifyReport.Problem(file: $0.file, offset: 0, sequence: log.lastSequence, reason: $0.reason)
        }
    }
}

/// An index is made again when it is wrong; but a disk that changed it may have changed more.
private struct IndexCheck: LogCheck {
    func check(_ log: VerifiedLog) throws(EventLogError) -> [VerifyReport.Problem] {
        guard LogPlace.isFolder(log.directory + "/index") else { return [] }
        return try LogIndex.verify(directory: log.directory, scheme: .trace).problems
    }
}
