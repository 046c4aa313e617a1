import Glibc
import Time

/// `upstream.json` in a log's folder: the name and identity of the log's upstream log.
package struct UpstreamNote: Hashable, Sendable {
    package var log: String
    package var identity: LogIdentity

    private static let bytesMax = 4096

    package init(log: String, identity: LogIdentity) {
        self.log = log
        self.identity = identity
    }

    /// The file's contents.
    package var text: String { #"{"log":"\#(log)","identity":"\#(identity)"}"# + "\n" }

    package static let fileName = "upstream.json"

    package static func path(in directory: String) -> String { "\(directory)/\(fileName)" }

    /// Nil if the file is missing: the log is a source's log, which has no upstream log, or its stage has not connected
    /// to the upstream stage yet.
    ///
    /// - Throws: ``EventLogError/damaged(file:offset:sequence:reason:)`` if the file is not exactly as ``text``.
    package static func read(directory: String) throws(EventLogError) -> UpstreamNote? {
        guard let file = try OpenFile.ifPresent(path(in: directory)) else { return nil }
        let text = String(decoding: try file.bytes(bytesMax, at: 0), as: UTF8.self)
        guard let note = UpstreamNote(text) else {
            let reason = "the file was changed after Belfry wrote it"
            throw .damaged(file: file.path, offset: 0, sequence: 1, reason: reason)
        }
        return note
    }

    private init?(_ text: String) {
        let (start, middle, end) = (#"{"log":""#, #"","identity":""#, "\"}\n")
        let log = text.dropFirst(start.count).prefix { $0 != "\"" }
        let uuid = text.dropFirst(start.count + log.count + middle.count).dropLast(end.count)
        guard let identity = LogIdentity(uuid: String(uuid)) else { return nil }
        self.init(log: String(log), identity: identity)
        guard self.text == text else { return nil }
    }
}

extension EventLogs {
    /// A log's cursor after its last batch. Reads the headers of its last two segments.
    ///
    /// - Parameter directory: The log's own folder.
    package static func cursor(directory: String) throws(EventLogError) -> Cursor {
        let log = LogDirectory(path: directory)
        let manifest = try LogManifest.required(in: log)
        return try log.withSegments { segments throws(EventLogError) in
            var cursor = Cursor()
            // The last segment may still be without an opening. Then the segment before it has the cursor.
            for first in segments.suffix(2) {
                let reader = try SegmentReader(log, first, manifest.identity)
                while case .batch(let batch) = try unsafe reader.peek(withBody: false) {
                    unsafe cursor.fold(batch.header.cursor)
                    unsafe reader.consume(batch)
                }
            }
            return cursor
        }
    }

    /// The logs in the same folder that were made from a log, sorted by name. Each has the sequence of the last event
    /// that its stage has processed.
    ///
    /// Skips logs that cannot be read.
    package static func consumers(
        ofLogAt directory: String
    ) throws(EventLogError) -> [(name: String, lastProcessed: UInt64)] {
        let (folder, name) = LogDirectory.split(directory)
        var consumers: [(name: String, lastProcessed: UInt64)] = []
        for sibling in try LogDirectory.entries(of: folder).sorted() where sibling != name {
            do throws(EventLogError) {
                guard try UpstreamNote.read(directory: folder + "/" + sibling)?.log == name else { continue }
                let lastProcessed = try cursor(directory: folder + "/" + sibling).positions[name] ?? 0
                consumers.append((sibling, lastProcessed))
            } catch { continue }
        }
        return consumers
    }
}

extension LogDirectory {
    /// Whether the folder has this name, itself or after resolving symbolic links.
    func isNamed(_ name: String) -> Bool {
        if LogDirectory.split(path).name == name { return true }
        guard let resolved = unsafe realpath(path, nil) else { return false }
        defer { unsafe free(resolved) }
        return unsafe LogDirectory.split(String(cString: resolved)).name == name
    }

    /// The folder and the last part of a path.
    static func split(_ path: String) -> (folder: String, name: String) {
        let parts = path.split(separator: "/")
        let folder = parts.dropLast().joined(separator: "/")
        let start = path.hasPrefix("/") ? "/" : folder.isEmpty ? "." : ""
        return (start + folder, parts.last.map(String.init) ?? path)
    }
}
