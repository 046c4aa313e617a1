import Glibc
import Time

extension EventLogWriter {
    /// Removes whole segments that hold no event from `sequence` on, oldest first; never the last.
    ///
    /// At whatever moment it is stopped, what remains is a log without gaps. Readers that are in a removed segment may
    /// read it to its end and go on; those that need one find it ``EventLogError/gone(directory:sequence:first:)``.
    ///
    /// - Returns: What was removed.
    /// - Throws: Where the disk fails; what was removed by then stays removed.
    @discardableResult
    package func trim(before sequence: UInt64) throws(EventLogError) -> [SegmentFacts] {
        let segments = segmentsOnDisk
        return try segments.remove(LogTrim.removable(try segments.list(), before: sequence))
    }

    /// The log's segments, oldest first. Reads the head of each.
    package func segments() throws(EventLogError) -> [SegmentFacts] { try segmentsOnDisk.list() }

    /// The same for another thread, which may take its time.
    package var segmentsOnDisk: SegmentsOnDisk {
        SegmentsOnDisk(directory: LogDirectory(path: directory, calls: calls), identity: identity, end: end)
    }
}

/// The segments of a log that is open for writing. To list them opens a file for each; to remove them takes longer, the
/// larger they are. One removal at a time for each log.
package struct SegmentsOnDisk: Sendable {
    fileprivate let directory: LogDirectory
    fileprivate let identity: LogIdentity
    /// Where the log had come to.
    fileprivate let end: LastSegment

    /// Oldest first. Reads the head of each.
    package func list() throws(EventLogError) -> [SegmentFacts] {
        try LogDirectory(path: directory.path).facts(identity) { _, _ in end }
    }

    /// Those that hold no event from `sequence` on, oldest first; never the last.
    package func removable(before sequence: UInt64) throws(EventLogError) -> [SegmentFacts] {
        LogTrim.removable(try list(), before: sequence)
    }

    /// Removes what ``removable(before:)`` gave: see ``EventLogWriter/trim(before:)``.
    @discardableResult
    package func remove(_ removable: [SegmentFacts]) throws(EventLogError) -> [SegmentFacts] {
        try LogTrim.remove(removable, from: directory)
    }
}

extension EventLogs {
    /// Removes whole segments of a log that no writer has open; see ``EventLogWriter/trim(before:)``.
    ///
    /// - Throws: ``EventLogError/alreadyOpen(name:directory:process:)``; ``EventLogError/notALog(directory:)``.
    @discardableResult
    package static func trim(directory: String, before sequence: UInt64) throws(EventLogError) -> [SegmentFacts] {
        let log = LogDirectory(path: directory)
        let manifest = try LogManifest.required(in: log)
        let lock = try WriterLock(manifest.name, log)
        defer { withExtendedLifetime(lock) {} }
        return try LogTrim.remove(LogTrim.removable(try segments(directory: directory), before: sequence), from: log)
    }
}

/// The removal of a log's oldest segments.
enum LogTrim {
    /// A last segment without an opening needs the one before it, which alone tells what the log has come to.
    static func removable(_ segments: [SegmentFacts], before sequence: UInt64) -> [SegmentFacts] {
        guard let last = segments.last else { return [] }
        let kept = last.bytes == 0 ? 2 : 1
        return zip(segments, segments.dropFirst()).dropLast(kept - 1)
            .prefix { $1.firstSequence <= sequence }.map { $0.0 }
    }

    /// Each is gone for good before the next goes, so that no crash leaves a gap.
    static func remove(_ removable: [SegmentFacts], from log: LogDirectory) throws(EventLogError) -> [SegmentFacts] {
        guard let last = removable.last else { return [] }
        // The opening of the oldest that stays takes the place of all that goes.
        let oldest = try OpenFile(log.segmentPath(last.lastSequence + 1), O_RDONLY)
        try oldest.synchronize(log.calls)
        let first = last.lastSequence + 1
        var isNoted = try noteUnlessFull(first, in: log)
        for segment in removable {
            guard uninterrupted({ unsafe log.calls.unlink(segment.path) }) == 0 || errno == ENOENT else {
                throw .lastFailure("remove", segment.path)
            }
            try log.synchronize()
            if !isNoted { try log.noteTrim(to: first) }
            isNoted = true
        }
        return removable
    }

    /// Where there is no room even for that, the first segment's removal makes it.
    private static func noteUnlessFull(_ first: UInt64, in log: LogDirectory) throws(EventLogError) -> Bool {
        do throws(EventLogError) { try log.noteTrim(to: first) } catch .failed(_, _, let code)
            where EventLogError.isLackOfRoom(code)
        {
            return false
        }
        return true
    }
}
