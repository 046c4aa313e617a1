import EventLog
import Foundation

/// A copy of a pipeline's logs in which events can be changed: with right CRCs, so that only a replay can tell.
public final class RewrittenLogs {
    private let folder: Folder
    public var path: String { folder.file("logs") }

    public init(of logs: String) throws {
        folder = try Folder()
        try FileManager.default.copyItem(atPath: logs, toPath: folder.file("logs"))
    }

    /// Writes a log anew; `change` gets each event with its sequence, and returns what stands there instead.
    ///
    /// - Parameter segmentBytes: Where segments are cut; nil: where every log's are.
    public func rewrite(
        _ log: String, segmentBytes: Int? = nil, _ change: (UInt64, String) -> [String] = { [$1] }
    ) throws {
        let old = folder.file("old")
        try FileManager.default.moveItem(atPath: path + "/" + log, toPath: old)
        let summary = try EventLogs.summary(directory: old)
        let reader = try EventLogReader(directory: old, from: .beginning)
        var options = EventLogOptions(directory: path, name: log, identity: summary.identity, sync: .never)
        if let segmentBytes { options.segmentBytesMax = segmentBytes }
        let writer = try EventLogWriter(options)
        while let batch = try reader.next() {
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
