import EventLog
import Foundation

/// A copy of a pipeline's logs in which a test changes events. The CRCs are correct, so a reader of a log accepts the
/// changed events. A replay notices the difference.
package final class RewrittenLogs {
    package let folder: Folder
    package var path: String { folder.file("logs") }

    package init(of logs: String) throws {
        folder = try Folder()
        try FileManager.default.copyItem(atPath: logs, toPath: folder.file("logs"))
    }

    /// Rewrites a log. Of the files beside the log, only `upstream.json` and `settings.ndjson` remain.
    ///
    /// - Parameters:
    ///   - segmentBytes: The size up to which a segment takes further batches; nil for the usual size. A segment's
    ///     first batch with events may exceed this size.
    ///   - change: Gets each event with its sequence, and returns the events that replace it.
    package func rewrite(
        _ log: String, segmentBytes: Int? = nil, _ change: (UInt64, String) -> [String] = { [$1] }
    ) throws {
        try rewrite(log, segmentBytes: segmentBytes, batches: .max, change)
    }

    /// Keeps only the first batches of a log, as if the stage had been killed after them. Of the files beside the log,
    /// only `upstream.json` and `settings.ndjson` remain, so there is no snapshot.
    package func cut(_ log: String, after batches: Int) throws { try rewrite(log, batches: batches) { [$1] } }

    private func rewrite(
        _ log: String, segmentBytes: Int? = nil, batches: Int, _ change: (UInt64, String) -> [String]
    ) throws {
        var left = batches
        let old = folder.file("old")
        try FileManager.default.moveItem(atPath: path + "/" + log, toPath: old)
        let summary = try EventLogs.summary(directory: old)
        let reader = try EventLogReader(directory: old, from: .beginning)
        var options = EventLogOptions(directory: path, name: log, identity: summary.identity, sync: .never)
        if let segmentBytes { options.segmentBytesMax = segmentBytes }
        let writer = try EventLogWriter(options)
        while left > 0, let batch = try reader.next() {
            left -= 1
            let lines = String(decoding: batch.body, as: UTF8.self).split(separator: "\n").map(String.init)
            let changed = zip(batch.header.firstSequence..., lines).flatMap { change($0, $1) }
            let body = Array(changed.map { $0 + "\n" }.joined().utf8)
            _ = try body.withUnsafeBytes {
                try writer.append($0, count: changed.count, cursor: batch.header.cursor, now: batch.header.now)
            }
        }
        try writer.close()
        for note in ["/upstream.json", "/settings.ndjson"] where FileManager.default.fileExists(atPath: old + note) {
            try FileManager.default.copyItem(atPath: old + note, toPath: path + "/" + log + note)
        }
        try FileManager.default.removeItem(atPath: old)
    }
}
