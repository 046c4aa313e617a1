import Glibc
import Time

/// Reads a log's batches in order, in any process, while a writer appends.
///
/// Belongs to one thread at a time. What a writer has appended is there at once; it may not be durable yet.
package final class EventLogReader {
    /// Where to begin.
    package enum Start: Hashable, Sendable {
        /// The oldest batch that the log still holds.
        case beginning
        /// The batch that holds this sequence, whole: cut it with ``EventLogReader/slice(_:header:from:)``.
        case sequence(UInt64)
        /// The first batch whose `now` is not earlier.
        case time(Instant)
        /// Behind the last batch.
        case end
    }

    /// A batch. `body` is valid until the reader's next call, which the compiler cannot hold of a class.
    @unsafe package struct Batch {
        package var header: BatchHeader
        package var body: UnsafeRawBufferPointer
    }

    private let directory: LogDirectory
    private let buffer = ReadBuffer()
    private var start: Start?
    private var identity: LogIdentity?
    private var segment: SegmentReader?
    /// Whether a later segment exists, so that nothing is added to this one any more.
    private var isSegmentFinal = false
    private var watch: LogWatch?

    /// - Parameters:
    ///   - directory: The log's own folder. It need not exist yet.
    ///   - start: A sequence or time may lie ahead; then ``next(through:)`` is nil until it comes.
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

    /// The next batch, its CRC checked; nil at the end, for now. A batch that is not written whole is the end.
    ///
    /// - Parameter last: A batch that goes beyond this sequence is left for later, such as until it is durable.
    /// - Throws: ``EventLogError/damaged(file:offset:sequence:reason:)`` each time, at the same place.
    package func next(through last: UInt64 = .max) throws(EventLogError) -> Batch? {
        guard let batch = try unsafe nextBatch(body: true, through: last) else { return nil }
        return unsafe Batch(header: batch.header, body: batch.body)
    }

    /// The next batch's header; nil at the end, for now. The body is passed over, and its CRC is not checked.
    package func nextHeader() throws(EventLogError) -> BatchHeader? {
        try unsafe nextBatch(body: false, through: .max)?.header
    }

    /// Blocks until there may be more: call it after ``next(through:)`` was nil, and that one after it.
    ///
    /// Nothing that is appended between the two is missed, and nothing is polled.
    ///
    /// - Parameter timeout: Nil waits as long as it takes.
    /// - Returns: False where the time ran out.
    package func waitForMore(timeout: Duration? = nil) throws(EventLogError) -> Bool {
        try openedWatch().wait(timeout: timeout)
    }

    /// A descriptor that is readable when there may be more, for those who wait for several things at once. When it
    /// is, call ``waitForMore(timeout:)`` with zero, then ``next(through:)``; call both once before waiting.
    package func watchDescriptor() throws(EventLogError) -> CInt {
        try openedWatch().descriptor
    }

    /// The lines of a batch from a sequence on; all of them where it lies before the batch.
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
    private func nextBatch(body: Bool, through last: UInt64) throws(EventLogError) -> SegmentBatch? {
        while let segment = try openedSegment() {
            let found = try unsafe segment.peek(body: body && start == nil)
            if case .batch(let batch) = unsafe found {
                if unsafe batch.isOpening || start?.isBehind(batch.header) == true {
                    unsafe segment.consume(batch)
                } else if start != nil {
                    start = nil
                } else {
                    guard unsafe batch.header.lastSequence <= last else { return nil }
                    unsafe segment.consume(batch)
                    return unsafe batch
                }
            } else {
                guard try unsafe goOn(from: segment, found) else { return nil }
            }
        }
        return nil
    }

    /// What to do where a segment ends. False: wait for more.
    ///
    /// A later segment may have come since the end was seen, and more before it: so the first time it is only noted.
    private func goOn(from segment: SegmentReader, _ found: SegmentReader.Found) throws(EventLogError) -> Bool {
        if isSegmentFinal {
            if case .unfinished(let reason) = unsafe found { throw segment.damaged("\(reason), but the log goes on") }
            guard segment.nextSequence > segment.first else { throw segment.damaged("no events, but the log goes on") }
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

    /// False where there is no log yet.
    private func openFirst() throws(EventLogError) -> Bool {
        guard let identity = try LogManifest.ifBegun(in: directory)?.identity else { return false }
        self.identity = identity
        segment = try directory.withSegments { segments throws(EventLogError) in
            guard let first = try directory.segment(for: start ?? .beginning, among: segments, identity) else {
                return nil
            }
            let file = try OpenFile(directory.segmentPath(first), O_RDONLY)
            return SegmentReader(file, first: first, identity: identity, buffer: buffer)
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
        while let segment, case .batch(let batch) = try unsafe segment.peek(body: false) {
            unsafe segment.consume(batch)
        }
    }

    private func openedWatch() throws(EventLogError) -> LogWatch {
        if let watch { return watch }
        let watch = try LogWatch(directory.path)
        self.watch = watch
        return watch
    }
}

extension EventLogReader.Start {
    /// Whether a batch lies wholly before the start.
    fileprivate func isBehind(_ header: BatchHeader) -> Bool {
        switch self {
        case .sequence(let sequence):
            header.count == 0 ? header.firstSequence < sequence : header.lastSequence < sequence
        case .time(let time): header.now < time
        case .beginning, .end: false
        }
    }
}

extension LogDirectory {
    /// The segment to begin reading in; nil where there is none.
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

    /// The last segment before which the log had not come to a time; else the first. Openings tell.
    private func segment(at time: Instant, among segments: [UInt64], _ identity: LogIdentity) throws(EventLogError)
        -> UInt64
    {
        var (low, high) = (0, segments.count)
        while low < high {
            let middle = (low + high) / 2
            if try hasNotCome(to: time, before: segments[middle], identity) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return segments[max(low - 1, 0)]
    }

    private func hasNotCome(to time: Instant, before first: UInt64, _ identity: LogIdentity) throws(EventLogError)
        -> Bool
    {
        let file = try OpenFile(segmentPath(first), O_RDONLY)
        let reader = SegmentReader(file, first: first, identity: identity)
        guard case .batch(let opening) = try unsafe reader.peek(body: false) else { return false }
        return unsafe opening.header.now < time
    }
}
