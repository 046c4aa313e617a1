import EventLog
import Foundation
import TestSupport

extension RewrittenLogs {
    /// Removes the events of a log before `sequence`, as retention does. Each remaining event gets a batch of its own.
    /// Of the files beside the log, only `upstream.json` and `settings.ndjson` remain.
    func trim(_ log: String, before sequence: UInt64) throws {
        let old = folder.file("untrimmed")
        try FileManager.default.moveItem(atPath: path + "/" + log, toPath: old)
        let identity = try EventLogs.identity(directory: old)
        let writer = try EventLogWriter(
            EventLogOptions(directory: path, name: log, identity: identity, segmentBytesMax: 1, sync: .never))
        let reader = try EventLogReader(directory: old, from: .beginning)
        while let batch = try reader.next() {
            for line in String(decoding: batch.body, as: UTF8.self).split(separator: "\n") {
                _ = try Array((line + "\n").utf8).withUnsafeBytes {
                    try writer.append($0, count: 1, cursor: batch.header.cursor, now: batch.header.now)
                }
            }
        }
        try writer.trim(before: sequence)
        try writer.close()
        for note in ["/upstream.json", "/settings.ndjson"] where FileManager.default.fileExists(atPath: old + note) {
            try FileManager.default.copyItem(atPath: old + note, toPath: path + "/" + log + note)
        }
        try FileManager.default.removeItem(atPath: old)
    }
}
