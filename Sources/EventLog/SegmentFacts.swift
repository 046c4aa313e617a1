import Glibc
import Time

/// The size, events and times of one segment. Retention uses them to decide what to remove.
package struct SegmentFacts: Hashable, Sendable {
    package var path: String
    package var firstSequence: UInt64
    /// One less than ``firstSequence`` if the segment has no events.
    package var lastSequence: UInt64
    package var bytes: UInt64
    /// The `now` of the first batch after the opening; nil without such a batch.
    package var firstNow: Instant?
    /// The `now` of the last batch after the opening; nil without such a batch.
    package var lastNow: Instant?
}

/// Where a segment ends.
struct SegmentEnd {
    var nextSequence: UInt64
    var lastNow: Instant
    /// The segment's size without a torn batch.
    var bytes: UInt64
}

extension LogDirectory {
    /// The log's segments, oldest first. Each segment ends where the next one begins, and the last one at `end`.
    func facts(_ identity: LogIdentity, end last: SegmentEnd) throws(EventLogError) -> [SegmentFacts] {
        try withSegments { firsts throws(EventLogError) in
            var facts: [SegmentFacts] = []
            var end = last
            for first in firsts.reversed() {
                let head = try SegmentHead(self, first, identity)
                let path = segmentPath(first)
                facts.append(
                    SegmentFacts(
                        path: path, firstSequence: first, lastSequence: end.nextSequence - 1,
                        bytes: facts.isEmpty ? last.bytes : try OpenFile(path, O_RDONLY).size(),
                        firstNow: head.firstNow, lastNow: head.firstNow == nil ? nil : end.lastNow))
                // The end of the previous segment. `bytes` is not used: that segment's size is read from its file.
                end = SegmentEnd(nextSequence: first, lastNow: head.opening ?? end.lastNow, bytes: 0)
            }
            return facts.reversed()
        }
    }

    /// Calls `body` with the first sequences of all segments. Calls it again if it fails because a segment was removed
    /// meanwhile.
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

/// The first times of a segment.
struct SegmentHead {
    /// The `now` of the opening: the log's time before the segment. Nil if the segment is empty or its opening is torn.
    var opening: Instant?
    /// The `now` of the first batch after the opening; nil without such a batch.
    var firstNow: Instant?

    init(_ log: LogDirectory, _ first: UInt64, _ identity: LogIdentity) throws(EventLogError) {
        let reader = try SegmentReader(log, first, identity)
        while firstNow == nil, case .batch(let batch) = try unsafe reader.peek(withBody: false) {
            if unsafe batch.isOpening { opening = unsafe batch.header.now } else { firstNow = unsafe batch.header.now }
            unsafe reader.consume(batch)
        }
    }
}
