import EventLog
import Foundation

extension RecordedStage {
    /// Checks that the log's last segments are not missing. Without them, the log looks as if its stage had stopped
    /// earlier, so only the files beside the log can prove the loss.
    ///
    /// - Throws: ``ReplayError/lost(log:last:path:)`` when a file beside the log proves that there were more events.
    func checkEnd() throws {
        guard let path = try proofOfMoreEvents() else { return }
        throw ReplayError.lost(log: log.directory, last: log.lastSequence, path: path)
    }

    private func proofOfMoreEvents() throws -> String? {
        // A stage writes the upstream note after its log's first segment.
        if log.segments == 0, notedUpstream != nil { return UpstreamNote.path(in: log.directory) }
        let snapshots = try SnapshotStore(logDirectory: log.directory).list()
        let newest = snapshots.last { $0.header?.log == log.identity }
        // A running stage may have appended events since `log` was read.
        if let newest, let header = newest.header, header.sequence > log.lastSequence,
            try header.sequence > EventLogs.summary(directory: log.directory).lastSequence
        {
            return newest.path
        }
        return try indexWithoutSegment()
    }

    private func indexWithoutSegment() throws -> String? {
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
