import Glibc
import Time

/// Reads single events of a log by their sequences, in any order, also while a writer appends.
///
/// An `EventLookup` remembers where batches begin, so that a lookup near an earlier lookup reads only a few kilobytes.
/// It belongs to one thread at a time.
package final class EventLookup {
    private let directory: LogDirectory
    private var identity: LogIdentity?
    /// The first sequences of the segments, when they were last listed.
    private var firsts: [UInt64] = []
    private var segments: [UInt64: SegmentLookup] = [:]
    /// The segments whose files are open.
    private var open: Set<UInt64> = []

    /// If more segments are open, their files are closed.
    private static let openMax = 64

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
        firsts = try directory.segments()
        return try unsafe look(sequence, body)
    }

    private func look<Result>(
        _ sequence: UInt64, _ body: (UnsafeRawBufferPointer) -> Result
    ) throws(EventLogError) -> Result? {
        guard let first = segmentFirst(for: sequence) else { return nil }
        do throws(EventLogError) { return try unsafe segment(first)?.read(sequence, body) } catch {
            // Retention may have removed the segment.
            guard case .failed(_, _, ENOENT) = error else { throw error }
            segments[first] = nil
            open.remove(first)
            return nil
        }
    }

    /// The first sequence of the segment that may hold an event.
    private func segmentFirst(for sequence: UInt64) -> UInt64? {
        var (low, high) = (0, firsts.count)
        while low < high {
            let middle = (low + high) / 2
            if firsts[middle] <= sequence { low = middle + 1 } else { high = middle }
        }
        return low > 0 ? firsts[low - 1] : nil
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
    /// For each large batch, by the batch's offset: the offset in the body of each ``lineStep``th line.
    private var lineOffsets: [UInt64: [UInt32]] = [:]

    /// Within this distance, a batch is found by reading header after header.
    private static let stepBytes: UInt64 = 16 << 10
    /// A body of this size or more is read once as a whole, to fill ``lineOffsets``. Afterwards a lookup reads at most
    /// ``lineStep`` of its lines.
    private static let largeBytes = 32 << 10
    private static let lineStep = 16

    init(_ path: String, first: UInt64, _ identity: LogIdentity) {
        (self.path, self.first, self.identity) = (path, first, identity)
        batchStarts = [BatchStart(sequence: first, offset: 0)]
    }

    func close() { opened = nil }

    /// - Returns: The result of `body`; nil if the segment does not hold the event.
    func read<Result>(
        _ sequence: UInt64, _ body: (UnsafeRawBufferPointer) -> Result
    ) throws(EventLogError) -> Result? {
        guard let (offset, header) = try batch(of: sequence) else { return nil }
        let line = Int(sequence - header.firstSequence)
        if header.bodyBytes < SegmentLookup.largeBytes {
            return try unsafe body(self.line(line, inSmall: header, at: offset))
        }
        return try unsafe body(self.line(line, inLarge: header, at: offset))
    }
}

// MARK: - Batches

extension SegmentLookup {
    private func batch(of sequence: UInt64) throws(EventLogError) -> (offset: UInt64, header: FixedHeader)? {
        let size = try open().file.size()
        let index = batchStarts.partitioningIndex { $0.sequence > sequence || $0.offset > size } - 1
        guard index >= 0 else { return nil }
        var low = batchStarts[index]
        if let header = try header(at: low.offset), header.holds(sequence) { return (low.offset, header) }
        try narrow(&low, below: index + 1 < batchStarts.count ? batchStarts[index + 1].offset : size, to: sequence)
        while low.offset < size {
            guard let header = try header(at: low.offset) else {
                try checkTorn(low)
                return nil
            }
            guard header.firstSequence <= sequence else { return nil }
            if header.holds(sequence) {
                remember(low, header)
                return (low.offset, header)
            }
            low = BatchStart(
                sequence: header.firstSequence + UInt64(header.count), offset: low.offset + UInt64(header.batchBytes))
        }
        return nil
    }

    /// Moves `low` forwards by bisection, so that few batches are between `low` and the batch with the sequence.
    ///
    /// Remembers only batches that begin at or before the sequence, because later batches may still be cut off.
    private func narrow(_ low: inout BatchStart, below end: UInt64, to sequence: UInt64) throws(EventLogError) {
        var end = end
        while end > low.offset, end - low.offset > SegmentLookup.stepBytes {
            let middle = low.offset + (end - low.offset) / 2
            guard let (offset, header) = try scan(from: middle), offset < end else {
                end = middle
                continue
            }
            if header.firstSequence <= sequence {
                low = BatchStart(sequence: header.firstSequence, offset: offset)
                remember(low, header)
                // Bisecting the batch itself would read most of it.
                if header.holds(sequence) { return }
            } else {
                end = middle
            }
        }
    }

    /// Remembers a batch, unless it is smaller than ``stepBytes`` and another remembered batch begins less than
    /// ``stepBytes`` before it.
    private func remember(_ start: BatchStart, _ header: FixedHeader) {
        let next = batchStarts.partitioningIndex { $0.offset > start.offset }
        let gap = next > 0 ? start.offset - batchStarts[next - 1].offset : .max
        let isLarge = UInt64(header.batchBytes) >= SegmentLookup.stepBytes
        if gap > 0, gap >= SegmentLookup.stepBytes || isLarge { batchStarts.insert(start, at: next) }
    }

    private func header(at offset: UInt64) throws(EventLogError) -> FixedHeader? {
        if let header = try decoded(at: offset) { return header }
        // A writer that ran out of room may have written another batch here.
        try open().buffer.drop()
        if let header = try decoded(at: offset) { return header }
        return nil
    }

    private func decoded(at offset: UInt64) throws(EventLogError) -> FixedHeader? {
        let bytes = try unsafe bytes(BatchFormat.headerBytes, at: offset, ahead: 8 << 10)
        guard bytes.count == BatchFormat.headerBytes, case .header(let header) = unsafe FixedHeader.decode(bytes),
            header.identity == identity.digest
        else { return nil }
        return header
    }

    /// Throws if the batch at `start`, which has no intact header, is damaged. A torn batch is no damage: its events do
    /// not belong to the log.
    private func checkTorn(_ start: BatchStart) throws(EventLogError) {
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
        let offsets = try lineOffsets(of: header, at: offset)
        let index = number / SegmentLookup.lineStep
        let start = Int(offsets[index])
        let end = index + 1 < offsets.count ? Int(offsets[index + 1]) : Int(header.bodyBytes)
        let bodyStart = offset + UInt64(BatchFormat.headerBytes) + UInt64(header.cursorBytes)
        let lines = try unsafe bytes(end - start, at: bodyStart + UInt64(start), ahead: 0)
        return try unsafe line(number % SegmentLookup.lineStep, in: lines, header, at: offset)
    }

    /// The offset of each ``lineStep``th line of a large batch. The first call for a batch reads and checks the whole
    /// batch; later calls return the remembered offsets.
    private func lineOffsets(of header: FixedHeader, at offset: UInt64) throws(EventLogError) -> [UInt32] {
        if let known = lineOffsets[offset] { return known }
        let open = try open()
        open.buffer.drop()
        let start = offset + UInt64(BatchFormat.headerBytes) + UInt64(header.cursorBytes)
        let body = try open.file.bytes(Int(header.bodyBytes), at: start)
        guard CRC32C.checksum(body[...]) == header.bodyCRC else {
            throw damaged(header, at: offset, "the CRC does not match the events")
        }
        var (found, line, position): ([UInt32], Int, Int?) = ([], 0, 0)
        while let start = position, start < body.count {
            if line % SegmentLookup.lineStep == 0 { found.append(UInt32(start)) }
            line += 1
            position = unsafe body.withUnsafeBytes { unsafe EventLines.end(ofLineAt: start, in: $0) }
        }
        guard line == header.count else {
            throw damaged(header, at: offset, "the batch has \(line) lines, but its header says \(header.count) events")
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
