import Glibc
import Time

/// Which log another was made from: `upstream.json` in the folder of the one that was made.
package struct UpstreamNote: Hashable, Sendable {
    package var log: String
    package var identity: LogIdentity

    private static let bytesMax = 4096

    package init(log: String, identity: LogIdentity) {
        self.log = log
        self.identity = identity
    }

    /// As it stands in the file.
    package var text: String { #"{"log":"\#(log)","identity":"\#(identity)"}"# + "\n" }

    package static func path(in directory: String) -> String { directory + "/upstream.json" }

    /// Nil where the log was made from none, as a source's is.
    ///
    /// - Throws: ``EventLogError/damaged(file:offset:sequence:reason:)`` for a file that says something else.
    package static func read(directory: String) throws(EventLogError) -> UpstreamNote? {
        guard let file = try OpenFile.ifPresent(path(in: directory)) else { return nil }
        let text = String(decoding: try file.contents(bytesMax: bytesMax), as: UTF8.self)
        guard let note = UpstreamNote(text) else {
            throw .damaged(file: file.path, offset: 0, sequence: 1, reason: "this is not what was written")
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
    /// How far a log has come in those that it was made from. Reads the headers of its last segment.
    ///
    /// - Parameter directory: The log's own folder.
    package static func cursor(directory: String) throws(EventLogError) -> Cursor {
        let log = LogDirectory(path: directory)
        let manifest = try LogManifest.required(in: log)
        return try log.withSegments { segments throws(EventLogError) in
            var cursor = Cursor()
            // One that was only begun tells nothing; the one before it does.
            for first in segments.suffix(2) {
                let file = try OpenFile(log.segmentPath(first), O_RDONLY)
                let reader = SegmentReader(file, first: first, identity: manifest.identity)
                while case .batch(let batch) = try unsafe reader.peek(body: false) {
                    unsafe cursor.fold(batch.header.cursor)
                    unsafe reader.consume(batch)
                }
            }
            return cursor
        }
    }

    /// The logs in the same folder that are made from a log, by name, with the last of its sequences that each has
    /// done.
    ///
    /// Those whose own files cannot be read are passed over.
    package static func consumers(ofLogAt directory: String) throws(EventLogError) -> [(name: String, done: UInt64)] {
        let (folder, name) = LogDirectory.split(directory)
        var consumers: [(name: String, done: UInt64)] = []
        for sibling in try LogDirectory.entries(of: folder).sorted() where sibling != name {
            do throws(EventLogError) {
                guard try UpstreamNote.read(directory: folder + "/" + sibling)?.log == name else { continue }
                let done = try cursor(directory: folder + "/" + sibling).positions[name] ?? 0
                consumers.append((sibling, done))
            } catch { continue }
        }
        return consumers
    }
}

extension LogDirectory {
    /// Whether a log of that name belongs here: the folder has its name, also by the path that a link leads to.
    func isNamed(_ name: String) -> Bool {
        if LogDirectory.split(path).name == name { return true }
        guard let resolved = unsafe realpath(path, nil) else { return false }
        defer { unsafe free(resolved) }
        return unsafe LogDirectory.split(String(cString: resolved)).name == name
    }

    /// A path's folder and its last part.
    static func split(_ path: String) -> (folder: String, name: String) {
        let parts = path.split(separator: "/")
        let folder = parts.dropLast().joined(separator: "/")
        let start = path.hasPrefix("/") ? "/" : folder.isEmpty ? "." : ""
        return (start + folder, parts.last.map(String.init) ?? path)
    }
}
