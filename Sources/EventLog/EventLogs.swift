import Glibc
import Time

/// Reads facts about logs without opening them for writing.
package enum EventLogs {
    /// The logs in a folder, ordered by name. Skips files, and folders without a `log.json`.
    ///
    /// Reads the headers of each log's last segment. If this segment has no batches, also reads the headers of the
    /// segment before. Of the log's first segment, reads only the headers of the opening and of the batch after it.
    package static func list(in directory: String) throws(EventLogError) -> [LogSummary] {
        var logs: [LogSummary] = []
        for name in try LogDirectory.entries(of: directory).sorted() {
            let log = LogDirectory(path: directory + "/" + name)
            do {
                if let manifest = try LogManifest.read(in: log) { logs.append(try LogSummary(log, manifest)) }
            } catch .failed(_, _, ENOTDIR) {
                continue
            }
        }
        return logs
    }

    /// Whether a folder holds a log. A damaged or unsupported `log.json` counts, too.
    ///
    /// - Throws: ``EventLogError/withoutManifest(directory:)`` if there are segments, but no `log.json`.
    package static func isLog(directory: String) throws(EventLogError) -> Bool {
        do throws(EventLogError) {
            return try LogManifest.ifBegun(in: LogDirectory(path: directory)) != nil
        } catch .damaged, .unsupportedFormat {
            return true
        } catch .failed(_, _, ENOTDIR) {
            return false
        }
    }

    /// The identity of the log in a folder.
    package static func identity(directory: String) throws(EventLogError) -> LogIdentity {
        try LogManifest.required(in: LogDirectory(path: directory)).identity
    }

    /// - Parameter directory: The log's own folder.
    package static func summary(directory: String) throws(EventLogError) -> LogSummary {
        let log = LogDirectory(path: directory)
        return try LogSummary(log, LogManifest.required(in: log))
    }

    /// The format version in `log.json`, even one that this build cannot read.
    package static func format(directory: String) throws(EventLogError) -> Int {
        do throws(EventLogError) {
            _ = try LogManifest.required(in: LogDirectory(path: directory))
            return BatchFormat.version
        } catch .unsupportedFormat(_, let version) {
            return version
        }
    }
}

/// Facts about a log.
package struct LogSummary: Hashable, Sendable {
    package var name: String
    package var identity: LogIdentity
    /// The log's own folder.
    package var directory: String
    /// The sequence of the oldest event in the log; one more than ``lastSequence`` if there are no events.
    package var firstSequence: UInt64
    package var lastSequence: UInt64
    /// The `now` of the first batch; nil without batches.
    package var firstNow: Instant?
    /// The `now` of the last batch; nil without batches.
    package var lastNow: Instant?
    package var bytes: UInt64
    package var segments: Int
    /// Whether the last batch is unfinished: after a crash, or because a writer is writing it at the moment. Bodies are
    /// not read, so a batch that has its full length, but a wrong body, counts as finished.
    package var hasTornTail: Bool

    init(_ log: LogDirectory, _ manifest: LogManifest) throws(EventLogError) {
        self = try log.withSegments { segments throws(EventLogError) in try LogSummary(log, manifest, segments) }
    }

    private init(_ log: LogDirectory, _ manifest: LogManifest, _ segments: [UInt64]) throws(EventLogError) {
        (name, identity, directory) = (manifest.name, manifest.identity, log.path)
        self.segments = segments.count
        firstSequence = segments.first ?? 1
        lastSequence = (segments.last ?? 1) - 1
        hasTornTail = false
        bytes = 0
        for first in segments { bytes += try OpenFile(log.segmentPath(first), O_RDONLY).size() }
        if let first = segments.first { firstNow = try SegmentHead(log, first, identity).firstNow }
        if let last = segments.last { try readEnd(log, last, after: segments.dropLast().last) }
    }

    /// - Parameter previous: The segment before the last one; nil if there is only one segment.
    private mutating func readEnd(
        _ log: LogDirectory, _ last: UInt64, after previous: UInt64?
    ) throws(EventLogError) {
        var reader = try SegmentReader(log, last, identity)
        try reader.skipToEnd()
        lastSequence = reader.nextSequence - 1
        hasTornTail = try reader.file.size() > reader.offset
        // The opening of a new segment is written with its first batch.
        if reader.offset == 0, let previous {
            reader = try SegmentReader(log, previous, identity)
            try reader.skipToEnd()
        }
        if firstNow != nil { lastNow = reader.lastNow }
    }
}
