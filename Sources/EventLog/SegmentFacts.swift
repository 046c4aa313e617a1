import Glibc
import Time

/// What one segment of a log holds: what a retention by age and bytes decides by.
package struct SegmentFacts: Hashable, Sendable {
    package var path: String
    package var firstSequence: UInt64
    /// One less than ``firstSequence`` where it holds no events.
    package var lastSequence: UInt64
    package var bytes: UInt64
    /// The `now` of its first and its last batch; nil where there is none.
    package var firstNow: Instant?
    package var lastNow: Instant?
}

extension EventLogs {
    /// A log's segments, oldest first. Reads the head of each, and the headers of the last.
    ///
    /// - Parameter directory: The log's own folder.
    /// - Throws: ``EventLogError/notALog(directory:)``;
    ///   ``EventLogError/damaged(file:offset:sequence:reason:)`` where the last cannot be read to its end.
    package static func segments(directory: String) throws(EventLogError) -> [SegmentFacts] {
        let log = LogDirectory(path: directory)
        let manifest = try LogManifest.required(in: log)
        return try log.facts(manifest.identity) { path, first throws(EventLogError) in
            let reader = try SegmentReader(OpenFile(path, O_RDONLY), first: first, identity: manifest.identity)
            while case .batch(let batch) = try unsafe reader.peek(body: false) { unsafe reader.consume(batch) }
            return LastSegment(nextSequence: reader.nextSequence, lastNow: reader.lastNow, bytes: reader.offset)
        }
    }
}

/// Where a log has come to in its last segment.
struct LastSegment {
    var nextSequence: UInt64
    var lastNow: Instant
    /// Without what is torn.
    var bytes: UInt64
}

extension LogDirectory {
    /// - Parameter last: Asked for the last segment alone: nothing behind it tells where it ends.
    func facts(
        _ identity: LogIdentity, last: (_ path: String, _ first: UInt64) throws(EventLogError) -> LastSegment
    ) throws(EventLogError) -> [SegmentFacts] {
        try withSegments { firsts throws(EventLogError) in
            var facts: [SegmentFacts] = []
            var end: LastSegment?
            for (index, first) in firsts.enumerated().reversed() {
                let isLast = index == firsts.count - 1
                let path = segmentPath(first)
                let ending = if let end { end } else { try last(path, first) }
                let head = try SegmentHead(path, first, identity)
                let bytes = isLast ? ending.bytes : try OpenFile(path, O_RDONLY).size()
                facts.append(
                    SegmentFacts(
                        path: path, firstSequence: first, lastSequence: ending.nextSequence - 1, bytes: bytes,
                        firstNow: head.firstNow, lastNow: head.firstNow == nil ? nil : ending.lastNow))
                end = LastSegment(nextSequence: first, lastNow: head.opening ?? ending.lastNow, bytes: 0)
            }
            return facts.reversed()
        }
    }

    /// Calls `body` with the first sequences of all segments, again where one was removed in the meantime.
    func withSegments<Result>(_ body: ([UInt64]) throws(EventLogError) -> Result) throws(EventLogError) -> Result {
        var listed = try segments()
        while true {
            do throws(EventLogError) { return try body(listed) } catch {
                guard case .failed(_, _, ENOENT) = error else { throw error }
                let now = try segments()
                guard now != listed else { throw error }
                listed = now
            }
        }
    }
}

/// The times at the head of a segment.
private struct SegmentHead {
    /// The time that the log had come to before the segment.
    var opening: Instant?
    var firstNow: Instant?

    init(_ path: String, _ first: UInt64, _ identity: LogIdentity) throws(EventLogError) {
        let reader = try SegmentReader(OpenFile(path, O_RDONLY), first: first, identity: identity)
        while firstNow == nil, case .batch(let batch) = try unsafe reader.peek(body: false) {
            if unsafe batch.isOpening { opening = unsafe batch.header.now } else { firstNow = unsafe batch.header.now }
            unsafe reader.consume(batch)
        }
    }
}
