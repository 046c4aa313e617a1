import Glibc
import Time

extension EventLogWriter {
    /// Removes the segments that hold only events before `sequence`. Keeps the last segment, and also the segment
    /// before it if the last one is empty.
    ///
    /// An interruption at any moment leaves a log without gaps. A reader inside a removed segment can read it to its
    /// end; a reader that has to open it throws ``EventLogError/gone(directory:sequence:first:)``.
    ///
    /// - Returns: The removed segments.
    /// - Throws: If the disk fails, or if the beginning of a segment is damaged. Segments removed until then stay
    ///   removed.
    @discardableResult
    package func trim(before sequence: UInt64) throws(EventLogError) -> [SegmentFacts] {
        let segments = segmentsOnDisk
        return try segments.remove(segments.removable(before: sequence))
    }

    /// The log's segments, oldest first. Reads the head of each segment.
    package func segments() throws(EventLogError) -> [SegmentFacts] { try segmentsOnDisk.list() }

    /// The log's segments, for slow work on another thread.
    package var segmentsOnDisk: SegmentsOnDisk {
        SegmentsOnDisk(
            directory: LogDirectory(path: directory, calls: calls), identity: identity, end: end, trimHome: trimmingHome
        )
    }
}

/// The segments of a log that is open for writing. Only one removal may run at a time.
package struct SegmentsOnDisk: Sendable {
    fileprivate let directory: LogDirectory
    fileprivate let identity: LogIdentity
    /// The end of the log when this value was made.
    fileprivate let end: SegmentEnd
    /// Removes the events before a sequence from the log's home, too. Nil without a home.
    fileprivate let trimHome: (@Sendable (UInt64) throws(EventLogError) -> Void)?

    /// All segments, oldest first. Reads the head of each segment.
    package func list() throws(EventLogError) -> [SegmentFacts] {
        try LogDirectory(path: directory.path).facts(identity, end: end)
    }

    /// The segments that hold only events before `sequence`, oldest first. Leaves out the last segment, and also the
    /// segment before it if the last one is empty.
    package func removable(before sequence: UInt64) throws(EventLogError) -> [SegmentFacts] {
        let segments = try list()
        guard let last = segments.last else { return [] }
        // A last segment without an opening needs the segment before it, which has the log's cursor.
        let kept = last.bytes == 0 ? 2 : 1
        return zip(segments, segments.dropFirst()).dropLast(kept - 1)
            .prefix { $1.firstSequence <= sequence }.map { $0.0 }
    }

    /// Removes the segments that ``removable(before:)`` returned: see ``EventLogWriter/trim(before:)``.
    @discardableResult
    package func remove(_ removable: [SegmentFacts]) throws(EventLogError) -> [SegmentFacts] {
        // After a failure, the same segments are removable again. So the home is trimmed first.
        if let last = removable.last { try trimHome?(last.lastSequence + 1) }
        return try removeFiles(removable)
    }

    /// As ``remove(_:)``, but removes nothing from the log's home.
    @discardableResult
    func removeFiles(_ removable: [SegmentFacts]) throws(EventLogError) -> [SegmentFacts] {
        guard let last = removable.last else { return [] }
        let first = last.lastSequence + 1
        // The opening of the oldest remaining segment has the cursor and time of the removed segments. So it must be
        // durable before they are removed.
        try OpenFile(directory.segmentPath(first), O_RDONLY).synchronize(directory.calls)
        var isNoted = try noteUnlessFull(first)
        for segment in removable {
            guard uninterrupted({ unsafe directory.calls.unlink(segment.path) }) == 0 || errno == ENOENT else {
                throw .lastFailure("remove", segment.path)
            }
            // Each removal is durable before the next one, so that a crash leaves no gap.
            try directory.synchronize()
            if !isNoted { try directory.noteTrim(to: first) }
            isNoted = true
        }
        return removable
    }

    /// Notes the removal before it begins. Returns false on a full disk: then the note must wait until the first
    /// removal has made room.
    private func noteUnlessFull(_ first: UInt64) throws(EventLogError) -> Bool {
        do throws(EventLogError) { try directory.noteTrim(to: first) } catch .failed(_, _, let code)
            where EventLogError.isLackOfRoom(code)
        {
            return false
        }
        return true
    }
}
