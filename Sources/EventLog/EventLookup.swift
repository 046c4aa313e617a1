import Glibc
import Time

/// Reads single events of a log by their sequences, in any order, also while a writer appends.
///
/// An `EventLookup` remembers where batches begin, so that a lookup near an earlier lookup reads only a few kilobytes.
/// It belongs to one thread at a time.
package final class EventLookup {
    private let directory: LogDirectory
    private var identity: LogIdentity?
    /// The first sequences of the segments that the last listing found.
    private var firsts: [UInt64] = []
    private var segments: [UInt64: SegmentLookup] = [:]
    /// The segments whose files are open.
    private var open: Set<UInt64> = []

    /// The maximum number of open files. Before one more file is opened, all of them are closed.
    private static let openMax = 64
    /// The maximum number of ``segments``. Beyond it, each added element replaces the element with the lowest sequence.
    private static let segmentsMax = 1_024

    /// - Parameter directory: The log's own folder. It may be made later.
    package init(directory: String) { self.directory = LogDirectory(path: directory) }

    /// Calls `body` with an event, without its line feed. The bytes are valid during the call.
    ///
    /// - Returns: The result of `body`; nil if the log does not hold the event.
    /// - Throws: ``EventLogError/damaged(file:offset:sequence:reason:)`` if the event's batch is damaged, or cannot be
    ///   found behind a damaged batch.
    package func read<Result>(
        _ sequence: UInt64, _ body: (UnsafeRawBufferPointer) -> Result
    ) throws(EventLogError) -> Result? {
        if let found = try unsafe look(sequence, body) { return found }
        try relist()
        return try unsafe look(sequence, body)
    }

    /// Lists the segments, and forgets those that were removed.
    private func relist() throws(EventLogError) {
        firsts = try directory.segments()
        let present = Set(firsts)
        segments = segments.filter { present.contains($0.key) }
        open.formIntersection(present)
    }

    /// Remembers where a batch is, so that its events are found without a search. The log's writer may pass each batch
    /// that it appends.
    ///
    /// A CRC covers all events of a batch. A large batch comes with the offsets of its lines, so a lookup reads only a
    /// few of these lines and does not check the CRC. A lookup in a small batch reads the whole batch and checks its
    /// CRC.
    package func note(_ batch: AppendedBatch) {
        let first = batch.segmentFirst
        do throws(EventLogError) {
            if firsts.last.map({ $0 < first }) ?? true { try relist() }
            try segment(first)?.note(batch)
        } catch {
            // The next lookup lists the segments again, and reports the error.
        }
    }

    private func look<Result>(
        _ sequence: UInt64, _ body: (UnsafeRawBufferPointer) -> Result
    ) throws(EventLogError) -> Result? {
        guard let index = segmentIndex(for: sequence) else { return nil }
        let (first, next) = (firsts[index], index + 1 < firsts.count ? firsts[index + 1] : nil)
        do throws(EventLogError) { return try unsafe segment(first)?.read(sequence, before: next, body) } catch {
            // Retention may have removed the segment.
            guard case .failed(_, _, ENOENT) = error else { throw error }
            segments[first] = nil
            open.remove(first)
            return nil
        }
    }

    /// The position in ``firsts`` of the segment that may hold an event.
    private func segmentIndex(for sequence: UInt64) -> Int? {
        var (low, high) = (0, firsts.count)
        while low < high {
            let middle = (low + high) / 2
            if firsts[middle] <= sequence { low = middle + 1 } else { high = middle }
        }
        return low > 0 ? low - 1 : nil
    }

    private func segment(_ first: UInt64) throws(EventLogError) -> SegmentLookup? {
        if open.insert(first).inserted, open.count > EventLookup.openMax {
            for segment in segments.values { segment.close() }
            open = [first]
        }
        if let segment = segments[first] { return segment }
        if identity == nil { identity = try LogManifest.ifBegun(in: directory)?.identity }
        guard let identity else { return nil }
        let segment = SegmentLookup(directory.segmentPath(first), first: first, identity)
        if segments.count >= EventLookup.segmentsMax, let oldest = segments.keys.min() {
            segments[oldest] = nil
            open.remove(oldest)
        }
        segments[first] = segment
        return segment
    }
}

/// Finds events in one segment.
final class SegmentLookup {
    /// The beginning of a batch.
    private struct BatchStart {
        var sequence: UInt64
        var offset: UInt64
    }

    private struct BufferedFile {
        let file: OpenFile
        let buffer = ReadBuffer()
    }

    private let path: String
    private let first: UInt64
    private let identity: LogIdentity
    private var opened: BufferedFile?
    /// The remembered batches, in the order of their offsets. The first one is the first batch of the segment.
    private var batchStarts: [BatchStart]
    /// The lines of large batches, by the batches' offsets.
    private var lineOffsets: [UInt64: LineOffsets] = [:]

    /// Within this distance, a batch is found by reading header after header.
    private static let stepBytes: UInt64 = 16 << 10
    /// The first guess at an event's batch begins this many bytes before the likely place of the event. After a guess
    /// that is too late, the distance is four times as long.
    private static let leadBytes: UInt64 = 128 << 10
    /// After this many guesses, a batch is found by bisection, because the events differ too much in size.
    private static let guessesMax = 4

    init(_ path: String, first: UInt64, _ identity: LogIdentity) {
        (self.path, self.first, self.identity) = (path, first, identity)
        batchStarts = [BatchStart(sequence: first, offset: 0)]
    }

    func close() { opened = nil }

    /// - Parameter next: The first sequence of the next segment; nil if this is the last segment.
    /// - Returns: The result of `body`; nil if the segment does not hold the event.
    func read<Result>(
        _ sequence: UInt64, before next: UInt64?, _ body: (UnsafeRawBufferPointer) -> Result
    ) throws(EventLogError) -> Result? {
        guard let (offset, header) = try batch(of: sequence, before: next) else { return nil }
        let line = Int(sequence - header.firstSequence)
        if header.bodyBytes < LineOffsets.bodyBytesMin {
            return try unsafe body(self.line(line, inSmall: header, at: offset))
        }
        return try unsafe body(self.line(line, inLarge: header, at: offset))
    }
}

// MARK: - Batches

extension SegmentLookup {
    private func batch(
        of sequence: UInt64, before next: UInt64?
    ) throws(EventLogError) -> (offset: UInt64, header: FixedHeader)? {
        let size = try open().file.size()
        let index = batchStarts.partitioningIndex { $0.sequence > sequence || $0.offset > size } - 1
        guard index >= 0 else { return nil }
        var low = batchStarts[index]
        if let header = try header(at: low.offset, ahead: 1 << 10), header.holds(sequence) {
            return (low.offset, header)
        }
        let end = BatchStart(sequence: next ?? .max, offset: size)
        try narrow(&low, below: index + 1 < batchStarts.count ? batchStarts[index + 1] : end, to: sequence)
        while low.offset < size {
            guard let header = try header(at: low.offset, ahead: 8 << 10) else {
                try throwUnlessTorn(low)
                return nil
            }
            guard header.firstSequence <= sequence else { return nil }
            if header.holds(sequence) {
                remember(low, bytes: header.batchBytes)
                return (low.offset, header)
            }
            low = BatchStart(
                sequence: header.firstSequence + UInt64(header.count), offset: low.offset + UInt64(header.batchBytes))
        }
        return nil
    }

    /// Moves `low` forwards, so that few batches are between `low` and the batch with the sequence. Looks where the
    /// batch would be if all events had the same size, and bisects if that does not help.
    ///
    /// Remembers only batches that begin at or before the sequence. Callers look up events that stay in the log, so
    /// these batches stay too. A later batch may come from a failed append, and be cut off.
    private func narrow(_ low: inout BatchStart, below end: BatchStart, to sequence: UInt64) throws(EventLogError) {
        var (end, lead, guesses) = (end, SegmentLookup.leadBytes, 0)
        while end.offset > low.offset, case let bytes = end.offset - low.offset, bytes > SegmentLookup.stepBytes {
            var distance = bytes / 2
            if end.sequence > sequence, end.sequence != .max, guesses < SegmentLookup.guessesMax {
                guesses += 1
                let likely = Double(bytes) * Double(sequence - low.sequence) / Double(end.sequence - low.sequence)
                guard likely > Double(lead) else { return }
                distance = min(UInt64(likely) - lead, bytes - 1)
            }
            let start = low.offset + distance
            let found = try scan(from: start)
            if let (offset, header) = found, offset < end.offset, header.firstSequence <= sequence {
                low = BatchStart(sequence: header.firstSequence, offset: offset)
                remember(low, bytes: header.batchBytes)
                // End the search here: to bisect inside this batch would read most of it.
                if header.holds(sequence) { return }
            } else {
                end = BatchStart(sequence: found?.header.firstSequence ?? end.sequence, offset: start)
                lead *= 4
            }
        }
    }

    /// Remembers a batch, unless it is smaller than ``stepBytes`` and another remembered batch begins less than
    /// ``stepBytes`` before it.
    private func remember(_ start: BatchStart, bytes: Int) {
        let next = batchStarts.partitioningIndex { $0.offset > start.offset }
        let gap = next > 0 ? start.offset - batchStarts[next - 1].offset : .max
        let isLarge = UInt64(bytes) >= SegmentLookup.stepBytes
        if gap > 0, gap >= SegmentLookup.stepBytes || isLarge { batchStarts.insert(start, at: next) }
    }

    func note(_ batch: AppendedBatch) {
        remember(BatchStart(sequence: batch.firstSequence, offset: batch.offset), bytes: batch.bytes)
        lineOffsets[batch.offset] = batch.lines
    }

    private func header(at offset: UInt64, ahead: Int) throws(EventLogError) -> FixedHeader? {
        if let header = try decoded(at: offset, ahead) { return header }
        // The buffer may be outdated: after a failed append, a writer writes its next batch at the same offset.
        try open().buffer.drop()
        if let header = try decoded(at: offset, ahead) { return header }
        return nil
    }

    private func decoded(at offset: UInt64, _ ahead: Int) throws(EventLogError) -> FixedHeader? {
        let bytes = try unsafe bytes(BatchFormat.headerBytes, at: offset, ahead: ahead)
        guard bytes.count == BatchFormat.headerBytes, case .header(let header) = unsafe FixedHeader.decode(bytes),
            header.identity == identity.digest
        else { return nil }
        return header
    }

    /// Throws if the batch at `start`, which has no intact header, is damaged. Does not throw if it is torn: then its
    /// events do not belong to the log.
    private func throwUnlessTorn(_ start: BatchStart) throws(EventLogError) {
        let open = try open()
        let reader = SegmentReader(
            open.file, first: first, identity: identity, buffer: open.buffer, start: (start.offset, start.sequence))
        _ = try unsafe reader.peek(withBody: false)
    }

    /// The first intact header at or after an offset; nil if there is no such header.
    private func scan(from offset: UInt64) throws(EventLogError) -> (offset: UInt64, header: FixedHeader)? {
        let open = try open()
        let reader = SegmentReader(open.file, first: first, identity: identity, buffer: open.buffer)
        return try reader.nextHeader(from: offset)
    }

    private func open() throws(EventLogError) -> BufferedFile {
        if let opened { return opened }
        let open = BufferedFile(file: try OpenFile(path, O_RDONLY))
        opened = open
        return open
    }

    private func bytes(_ count: Int, at offset: UInt64, ahead: Int) throws(EventLogError) -> UnsafeRawBufferPointer {
        let open = try open()
        return try unsafe open.buffer.bytes(count, at: offset, of: open.file, ahead: ahead)
    }
}

// MARK: - Lines

extension SegmentLookup {
    private func line(
        _ number: Int, inSmall header: FixedHeader, at offset: UInt64
    ) throws(EventLogError) -> UnsafeRawBufferPointer {
        var events = try unsafe body(of: header, at: offset)
        if unsafe CRC32C.checksum(events) != header.bodyCRC {
            try open().buffer.drop()
            unsafe events = try body(of: header, at: offset)
        }
        guard unsafe CRC32C.checksum(events) == header.bodyCRC else {
            throw damaged(header, at: offset, "the CRC does not match the events")
        }
        return try unsafe line(number, in: events, header, at: offset)
    }

    private func body(of header: FixedHeader, at offset: UInt64) throws(EventLogError) -> UnsafeRawBufferPointer {
        let batch = try unsafe bytes(header.batchBytes, at: offset, ahead: 0)
        let start = BatchFormat.headerBytes + Int(header.cursorBytes)
        return unsafe UnsafeRawBufferPointer(rebasing: batch.dropFirst(start))
    }

    private func line(
        _ number: Int, inLarge header: FixedHeader, at offset: UInt64
    ) throws(EventLogError) -> UnsafeRawBufferPointer {
        let part = try lineOffsets(of: header, at: offset).part(with: number, bodyBytes: Int(header.bodyBytes))
        let bodyStart = offset + UInt64(BatchFormat.headerBytes) + UInt64(header.cursorBytes)
        let lines = try unsafe bytes(part.bytes.count, at: bodyStart + UInt64(part.bytes.lowerBound), ahead: 0)
        return try unsafe line(number - part.firstLine, in: lines, header, at: offset)
    }

    /// The lines of a large batch. The first call for a batch reads and checks the whole batch; later calls return the
    /// remembered offsets.
    private func lineOffsets(of header: FixedHeader, at offset: UInt64) throws(EventLogError) -> LineOffsets {
        if let known = lineOffsets[offset] { return known }
        let open = try open()
        open.buffer.drop()
        let start = offset + UInt64(BatchFormat.headerBytes) + UInt64(header.cursorBytes)
        let body = try open.file.bytes(Int(header.bodyBytes), at: start)
        guard CRC32C.checksum(body[...]) == header.bodyCRC else {
            throw damaged(header, at: offset, "the CRC does not match the events")
        }
        let found = unsafe body.withUnsafeBytes { unsafe LineOffsets($0) }
        guard found.lineCount == header.count else {
            let reason = "the batch has \(found.lineCount) lines, but its header says \(header.count) events"
            throw damaged(header, at: offset, reason)
        }
        lineOffsets[offset] = found
        return found
    }

    private func line(
        _ number: Int, in lines: UnsafeRawBufferPointer, _ header: FixedHeader, at offset: UInt64
    ) throws(EventLogError) -> UnsafeRawBufferPointer {
        var start = 0
        for _ in 0..<number { start = unsafe EventLines.end(ofLineAt: start, in: lines) ?? lines.count }
        guard let end = unsafe EventLines.end(ofLineAt: start, in: lines) else {
            throw damaged(header, at: offset, "the batch has fewer lines than its header says")
        }
        return unsafe UnsafeRawBufferPointer(rebasing: lines[start..<(end - 1)])
    }

    private func damaged(_ header: FixedHeader, at offset: UInt64, _ reason: String) -> EventLogError {
        .damaged(file: path, offset: offset, sequence: header.firstSequence, reason: reason)
    }
}

/// Where the lines of a large batch are, so that a lookup reads only a few of them.
struct LineOffsets: Sendable {
    private(set) var lineCount = 0
    /// The offset in the body of each ``step``th line.
    private var steps: [UInt32] = []

    /// Lookups in a smaller body read it as a whole.
    static let bodyBytesMin = 32 << 10
    private static let step = 16

    /// - Returns: Nil if the body is smaller than ``bodyBytesMin``.
    init?(ofLarge body: UnsafeRawBufferPointer) {
        guard body.count >= LineOffsets.bodyBytesMin else { return nil }
        unsafe self.init(body)
    }

    init(_ body: UnsafeRawBufferPointer) {
        var start = 0
        while let end = unsafe EventLines.end(ofLineAt: start, in: body) {
            if lineCount % LineOffsets.step == 0 { steps.append(UInt32(start)) }
            lineCount += 1
            start = end
        }
    }

    /// The part of the body that contains the line with this number, and the number of the part's first line.
    func part(with line: Int, bodyBytes: Int) -> (firstLine: Int, bytes: Range<Int>) {
        let index = line / LineOffsets.step
        let end = index + 1 < steps.count ? Int(steps[index + 1]) : bodyBytes
        return (index * LineOffsets.step, Int(steps[index])..<end)
    }
}

extension Array {
    /// The first index whose element meets the condition; the count if no element meets it. All elements after one that
    /// meets the condition must meet it, too.
    fileprivate func partitioningIndex(where isLater: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isLater(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

extension FixedHeader {
    fileprivate func holds(_ sequence: UInt64) -> Bool {
        firstSequence <= sequence && sequence < firstSequence + UInt64(count)
    }
}
