import Glibc
import Time

/// What can be said about logs without opening them for writing.
package enum EventLogs {
    /// The logs in a folder, by name. Folders without a log are passed over.
    ///
    /// Reads the headers of each log's first and last segment.
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

    /// Whether a folder is a log's.
    ///
    /// - Throws: ``EventLogError/withoutManifest(directory:)`` where `log.json` alone is missing.
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

    /// What one log holds.
    ///
    /// - Parameter directory: The log's own folder.
    package static func summary(directory: String) throws(EventLogError) -> LogSummary {
        let log = LogDirectory(path: directory)
        let manifest = try LogManifest.required(in: log)
        return try LogSummary(log, manifest)
    }
}

/// What a log holds.
package struct LogSummary: Hashable, Sendable {
    package var name: String
    package var identity: LogIdentity
    /// The log's own folder.
    package var directory: String
    /// The oldest event that the log still holds; one more than ``lastSequence`` where it holds none.
    package var firstSequence: UInt64
    package var lastSequence: UInt64
    /// The `now` of the first and the last batch; nil where there is none.
    package var firstNow: Instant?
    package var lastNow: Instant?
    package var bytes: UInt64
    package var segments: Int
    /// Whether the log ends in a batch that is not whole: a crash left it, or a writer is at it just now.
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
        if let first = segments.first { try readStart(log, first) }
        if let last = segments.last { try readEnd(log, last) }
    }

    private mutating func readStart(_ log: LogDirectory, _ first: UInt64) throws(EventLogError) {
        let reader = try SegmentReader(OpenFile(log.segmentPath(first), O_RDONLY), first: first, identity: identity)
        while firstNow == nil, case .batch(let batch) = try unsafe reader.peek(body: false) {
            if unsafe !batch.isOpening { firstNow = unsafe batch.header.now }
            unsafe reader.consume(batch)
        }
    }

    private mutating func readEnd(_ log: LogDirectory, _ last: UInt64) throws(EventLogError) {
        let reader = try SegmentReader(OpenFile(log.segmentPath(last), O_RDONLY), first: last, identity: identity)
        while case .batch(let batch) = try unsafe reader.peek(body: false) { unsafe reader.consume(batch) }
        lastSequence = reader.nextSequence - 1
        hasTornTail = try OpenFile(log.segmentPath(last), O_RDONLY).size() > reader.offset
        if firstNow != nil { lastNow = reader.offset > 0 ? reader.lastNow : firstNow }
    }
}

extension EventLogs {
    /// The format that a log says it has, also one that this version does not read.
    package static func format(directory: String) throws(EventLogError) -> Int {
        do throws(EventLogError) {
            _ = try LogManifest.required(in: LogDirectory(path: directory))
            return BatchFormat.version
        } catch .unsupportedFormat(_, let version) {
            return version
        }
    }
}
