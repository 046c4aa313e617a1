import Glibc
import Time

/// Reads a log's batches in order, in any process, also while a writer appends.
///
/// A reader belongs to one thread at a time. Appended batches can be read at once, even if they are not durable yet.
package final class EventLogReader {
    /// Where to begin.
    package enum Start: Hashable, Sendable {
        /// The oldest batch in the log.
        case beginning
        /// The whole batch that holds this sequence. The batch may begin with earlier events;
        /// ``EventLogReader/slice(_:header:from:)`` leaves them out. If the batches directly before it have no
        /// events, the reader may return these batches first.
        case sequence(UInt64)
        /// The first batch whose `now` is not earlier than this time.
        case time(Instant)
        /// After the last batch.
        case end
    }

    /// A batch. `body` is valid until the reader's next call; the compiler cannot check that for a class.
    @unsafe package struct Batch {
        package var header: BatchHeader
        package var body: UnsafeRawBufferPointer
    }

    private let directory: LogDirectory
    private let buffer = ReadBuffer()
    private var start: Start?
    private var identity: LogIdentity?
    private var segment: SegmentReader?
    /// Whether a later segment exists, so that ``segment`` no longer grows.
    private var isSegmentFinal = false
    private var watch: LogWatch?

    /// - Parameters:
    ///   - directory: The log's own folder. It may be made later.
    ///   - start: A future sequence or time is allowed: ``next(through:)`` returns nil until the log reaches it.
    /// - Throws: ``EventLogError/gone(directory:sequence:first:)``;
    ///   ``EventLogError/damaged(file:offset:sequence:reason:)``.
    package init(directory: String, from start: Start) throws(EventLogError) {
        self.directory = LogDirectory(path: directory)
        self.start = start
        if try openFirst() {
            if start == .end { try skipToEnd() }
        } else if start == .end {
            self.start = .beginning
        }
    }

    /// The next batch, with its CRC checked; nil at the end of the log so far. An unfinished batch counts as the end.
    ///
    /// - Parameter last: If the next batch ends after this sequence, the method returns nil. A later call can return
    ///   the batch.
    /// - Throws: ``EventLogError/damaged(file:offset:sequence:reason:)``, again on each further call;
    ///   ``EventLogError/gone(directory:sequence:first:)`` if the next segment was removed.
    package func next(through last: UInt64 = .max) throws(EventLogError) -> Batch? {
        guard let batch = try unsafe nextBatch(withBody: true, through: last) else { return nil }
        return unsafe Batch(header: batch.header, body: batch.body)
    }

    /// The next batch's header; nil at the end of the log so far. Skips the body without checking its CRC.
    package func nextHeader() throws(EventLogError) -> BatchHeader? {
        try unsafe nextBatch(withBody: false, through: .max)?.header
    }

    /// Blocks until there may be more batches. Call this when ``next(through:)`` has returned nil, and afterwards call
    /// ``next(through:)`` again.
    ///
    /// If a batch was appended between ``next(through:)`` and this call, this call returns at once. The method does not
    /// poll.
    ///
    /// - Parameter timeout: Nil waits without a limit.
    /// - Returns: True if there may be more batches; false after the timeout.
    package func waitForMore(timeout: Duration? = nil) throws(EventLogError) -> Bool {
        if watch == nil { watch = try LogWatch(directory.path) }
        return try watch?.wait(timeout: timeout) ?? false
    }

    /// The lines of a batch from `sequence` on; all lines if the batch begins later, no line if it ends earlier.
    package static func slice(_ body: UnsafeRawBufferPointer, header: BatchHeader, from sequence: UInt64)
        -> UnsafeRawBufferPointer
    {
        if sequence <= header.firstSequence { return unsafe body }
        var offset = 0
        for _ in header.firstSequence..<min(sequence, header.nextSequence) {
            offset = unsafe EventLines.end(ofLineAt: offset, in: body) ?? body.count
        }
        return unsafe UnsafeRawBufferPointer(rebasing: body[offset...])
    }
}

extension EventLogReader {
    private func nextBatch(withBody: Bool, through last: UInt64) throws(EventLogError) -> SegmentBatch? {
        while let segment = try openedSegment() {
            let found = try unsafe segment.peek(withBody: withBody && start == nil)
            if case .batch(let batch) = unsafe found {
                if unsafe batch.isOpening || start?.isAfter(batch.header) == true {
                    unsafe segment.consume(batch)
                } else if start != nil {
                    start = nil
                } else {
                    guard unsafe batch.header.lastSequence <= last else { return nil }
                    unsafe segment.consume(batch)
                    return unsafe batch
                }
            } else {
                guard try unsafe advance(past: segment, found) else { return nil }
            }
        }
        return nil
    }

    /// Continues after the end of a segment. Returns false if the reader must wait for more batches.
    ///
    /// After the reader has reached the end of a segment, the writer may append to the segment and then begin the next
    /// one. So the reader first only notes that a next segment exists. It opens the next segment when it reaches the
    /// end of this segment again.
    private func advance(past segment: SegmentReader, _ found: SegmentReader.Finding) throws(EventLogError) -> Bool {
        if isSegmentFinal {
            if case .unfinished(let reason) = unsafe found {
                throw segment.damaged("\(reason), but a later segment exists")
            }
            guard segment.nextSequence > segment.first else {
                throw segment.damaged("the segment has no events, but a later segment exists")
            }
            try openNext(after: segment)
        } else {
            guard let last = try directory.segments().last, last > segment.first else { return false }
            isSegmentFinal = true
        }
        return true
    }

    private func openedSegment() throws(EventLogError) -> SegmentReader? {
        if segment == nil { _ = try openFirst() }
        return segment
    }

    /// Returns false if the log has no segment yet.
    private func openFirst() throws(EventLogError) -> Bool {
        guard let identity = try LogManifest.ifBegun(in: directory)?.identity else { return false }
        self.identity = identity
        segment = try directory.withSegments { segments throws(EventLogError) in
            guard let first = try directory.segment(for: start ?? .beginning, among: segments, identity) else {
                return nil
            }
            return try SegmentReader(directory, first, identity, buffer: buffer)
        }
        return segment != nil
    }

    private func openNext(after done: SegmentReader) throws(EventLogError) {
        guard let identity, let file = try OpenFile.ifPresent(directory.segmentPath(done.nextSequence)) else {
            let segments = try directory.segments()
            if let first = segments.first, first > done.nextSequence {
                throw .gone(directory: directory.path, sequence: done.nextSequence, first: first)
            }
            let next = segments.first { $0 > done.nextSequence }
            throw done.damaged(next.map(done.gap) ?? "the next segment is missing")
        }
        segment = SegmentReader(
            file, first: done.nextSequence, identity: identity, lastNow: done.lastNow, buffer: buffer)
        isSegmentFinal = false
    }

    private func skipToEnd() throws(EventLogError) {
        start = nil
        try segment?.skipToEnd()
    }
}

extension EventLogReader.Start {
    /// Whether the start is after the whole batch.
    fileprivate func isAfter(_ header: BatchHeader) -> Bool {
        switch self {
        case .sequence(let sequence):
            header.count == 0 ? header.firstSequence < sequence : header.lastSequence < sequence
        case .time(let time): header.now < time
        case .beginning, .end: false
        }
    }
}

extension LogDirectory {
    /// The segment to begin reading in; nil if the log has no segments.
    fileprivate func segment(
        for start: EventLogReader.Start, among segments: [UInt64], _ identity: LogIdentity
    ) throws(EventLogError) -> UInt64? {
        guard let first = segments.first else { return nil }
        switch start {
        case .beginning: return first
        case .end: return segments.last
        case .time(let time): return try segment(at: time, among: segments, identity)
        case .sequence(let sequence):
            guard max(sequence, 1) >= first else { throw .gone(directory: path, sequence: sequence, first: first) }
            return segments.last { $0 <= max(sequence, 1) }
        }
    }

    /// The last segment whose opening is earlier than `time`; the first segment if no opening is earlier.
    private func segment(at time: Instant, among segments: [UInt64], _ identity: LogIdentity) throws(EventLogError)
        -> UInt64
    {
        var (low, high) = (0, segments.count)
        while low < high {
            let middle = (low + high) / 2
            let reader = try SegmentReader(self, segments[middle], identity)
            if case .batch(let opening) = try unsafe reader.peek(withBody: false), unsafe opening.header.now < time {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return segments[max(low - 1, 0)]
    }
}
