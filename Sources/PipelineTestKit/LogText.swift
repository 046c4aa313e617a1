import EventLog
import Foundation

/// A log's events as text.
enum LogText {
    static func events(in directory: String) throws -> [String] {
        let reader = try EventLogReader(directory: directory, from: .beginning)
        var events: [String] = []
        while let batch = try reader.next() {
            let text = String(decoding: batch.body, as: UTF8.self)
            events += text.split(separator: "\n").map(String.init)
        }
        return events
    }
}

/// A folder that goes when its owner does.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "belfry-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        path = url.path(percentEncoded: false)
    }

    deinit {
        do { try FileManager.default.removeItem(atPath: path) } catch {
            // Nothing depends on it: the system clears its temporary folder.
        }
    }
}
