import EventLog
import Foundation

extension RecordedStage {
    /// - Throws: ``ReplayError/lost(log:last:path:)`` where something beside the log tells of events that it does not
    ///   hold: a log whose last segments are missing looks like one whose stage had not come further.
    func checkEnd() throws {
        guard let path = try traceOfMore() else { return }
        throw ReplayError.lost(log: log.directory, last: log.lastSequence, path: path)
    }

    private func traceOfMore() throws -> String? {
        // A stage notes its upstream when its log has a segment.
        if log.segments == 0, notedUpstream != nil { return UpstreamNote.path(in: log.directory) }
        let snapshots = try SnapshotStore(logDirectory: log.directory).list()
        let newest = snapshots.last { $0.header?.log == log.identity }
        // A living stage may have gone on since the log was looked at.
        if let newest, let header = newest.header, header.sequence > log.lastSequence,
            try header.sequence > EventLogs.summary(directory: log.directory).lastSequence
        {
            return newest.path
        }
        return try orphan()
    }

    /// The index of a segment that is not there.
    private func orphan() throws -> String? {
        let folder = log.directory + "/index"
        guard FileManager.default.fileExists(atPath: folder) else { return nil }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        return names.first { name in
            guard name.hasSuffix(".index"), let first = UInt64(name.dropLast(".index".count)),
                first > log.firstSequence
            else { return false }
            return !FileManager.default.fileExists(atPath: "\(log.directory)/\(name.dropLast(".index".count)).log")
        }.map { folder + "/" + $0 }
    }
}
