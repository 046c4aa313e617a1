import Glibc
import Time

/// Reads single events of a log by their sequences, in any order, also while a writer appends.
///
/// It remembers where batches begin, so that a lookup near an earlier one reads a few kilobytes. Belongs to one thread
/// at a time.
package final class EventLookup {
    private let directory: LogDirectory
    private var identity: LogIdentity?
    /// The first sequences of the segments, when they were last listed.
    private var firsts: [UInt64] = []
    private var segments: [UInt64: SegmentLookup] = [:]
    /// The segments whose files are open.
    private var open: Set<UInt64> = []

    private static let openMax = 64

    /// - Parameter directory: The log's own folder. It may be made later.
    package init(directory: String) { self.directory = LogDirectory(path: directory) }

    /// Calls `body` with an event, without its line feed. The bytes are valid during the call.
    ///
    /// - Returns: Nil if the log does not hold the event.
    /// - Throws: ``EventLogError/damaged(file:offset:sequence:reason:)``.
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
        guard let first = first(before: sequence) else { return nil }
        return try unsafe segment(first)?.read(sequence, body)
    }

    /// The first sequence of the segment that may hold an event.
    private func first(before sequence: UInt64) -> UInt64? {
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
    private struct Place {
        var sequence: UInt64
        var offset: UInt64
    }

    private struct Open {
        let file: OpenFile
        let buffer = ReadBuffer()
    }

    private let path: String
    private let first: UInt64
    private let identity: LogIdentity
    private var opened: Open?
    /// In order, with few in any ``stepBytes``. The first is the beginning of the segment.
    private var places: [Place]
    /// For each large batch, by its offset: the offset in its body of each ``markLines``th line.
    private var marks: [UInt64: [UInt32]] = [:]

    /// Batches this close are found by reading header after header.
    private static let stepBytes: UInt64 = 16 << 10
    /// The body of a larger batch is read once as a whole; afterwards ``marks`` say where its lines are.
    private static let largeBytes = 32 << 10
    private static let markLines = 16

    init(_ path: String, first: UInt64, _ identity: LogIdentity) {
        (self.path, self.first, self.identity) = (path, first, identity)
        places = [Place(sequence: first, offset: 0)]
    }

    func close() { opened = nil }

    /// - Returns: Nil if the segment does not hold the event.
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
        let index = places.partitioningIndex { $0.sequence > sequence || $0.offset > size } - 1
        guard index >= 0 else { return nil }
        var low = places[index]
        if let header = try header(at: low.offset), header.holds(sequence) { return (low.offset, header) }
        try narrow(&low, below: index + 1 < places.count ? places[index + 1].offset : size, to: sequence)
        while low.offset < size {
            guard let header = try header(at: low.offset) else { return nil }
            guard header.firstSequence <= sequence else { return nil }
            if header.holds(sequence) {
                note(low)
                return (low.offset, header)
            }
            low = Place(
                sequence: header.firstSequence + UInt64(header.count), offset: low.offset + UInt64(header.batchBytes))
        }
        return nil
    }

    /// Moves a place forwards by bisection, so that few batches are between it and the one that is looked for.
    /// Remembers the batches that it meets before that one: the batches after it may still be cut off.
    private func narrow(_ low: inout Place, below end: UInt64, to sequence: UInt64) throws(EventLogError) {
        var end = end
        while end > low.offset, end - low.offset > SegmentLookup.stepBytes {
            let middle = low.offset + (end - low.offset) / 2
            guard let (offset, header) = try scan(from: middle), offset < end else {
                end = middle
                continue
            }
            if header.firstSequence <= sequence {
                low = Place(sequence: header.firstSequence, offset: offset)
                note(low)
                // Bisecting the batch itself would read most of it.
                if header.holds(sequence) { return }
            } else {
                end = middle
            }
        }
    }

    /// Remembers a place, unless one is near.
    private func note(_ place: Place) {
        let next = places.partitioningIndex { $0.offset > place.offset }
        let isNear = next > 0 && place.offset - places[next - 1].offset < SegmentLookup.stepBytes
        if !isNear { places.insert(place, at: next) }
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
            header.identity == identity.mark
        else { return nil }
        return header
    }

    /// The first header from an offset on.
    private func scan(from offset: UInt64) throws(EventLogError) -> (offset: UInt64, header: FixedHeader)? {
        let open = try open()
        let reader = SegmentReader(open.file, first: first, identity: identity, buffer: open.buffer)
        return try reader.nextHeader(from: offset)
    }

    private func open() throws(EventLogError) -> Open {
        if let opened { return opened }
        let open = Open(file: try OpenFile(path, O_RDONLY))
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
        var batch = try unsafe body(of: header, at: offset)
        if unsafe CRC32C.checksum(batch) != header.bodyCRC {
            try open().buffer.drop()
            unsafe batch = try body(of: header, at: offset)
        }
        guard unsafe CRC32C.checksum(batch) == header.bodyCRC else {
            throw damaged(header, at: offset, "CRC of the events differs")
        }
        return try unsafe line(number, in: batch, header, at: offset)
    }

    private func body(of header: FixedHeader, at offset: UInt64) throws(EventLogError) -> UnsafeRawBufferPointer {
        let batch = try unsafe bytes(header.batchBytes, at: offset, ahead: 0)
        let start = BatchFormat.headerBytes + Int(header.cursorBytes)
        return unsafe UnsafeRawBufferPointer(rebasing: batch.dropFirst(start))
    }

    private func line(
        _ number: Int, inLarge header: FixedHeader, at offset: UInt64
    ) throws(EventLogError) -> UnsafeRawBufferPointer {
        let marks = try marks(of: header, at: offset)
        let index = number / SegmentLookup.markLines
        let (start, end) = (Int(marks[index]), index + 1 < marks.count ? Int(marks[index + 1]) : Int(header.bodyBytes))
        let bodyStart = offset + UInt64(BatchFormat.headerBytes) + UInt64(header.cursorBytes)
        let lines = try unsafe bytes(end - start, at: bodyStart + UInt64(start), ahead: 0)
        return try unsafe line(number % SegmentLookup.markLines, in: lines, header, at: offset)
    }

    /// Checks a batch when it is first needed, and remembers where its lines are.
    private func marks(of header: FixedHeader, at offset: UInt64) throws(EventLogError) -> [UInt32] {
        if let known = marks[offset] { return known }
        let open = try open()
        open.buffer.drop()
        let start = offset + UInt64(BatchFormat.headerBytes) + UInt64(header.cursorBytes)
        let body = try open.file.bytes(Int(header.bodyBytes), at: start)
        guard CRC32C.checksum(body[...]) == header.bodyCRC else {
            throw damaged(header, at: offset, "CRC of the events differs")
        }
        var (found, line, position): ([UInt32], Int, Int?) = ([], 0, 0)
        while let start = position, start < body.count {
            if line % SegmentLookup.markLines == 0 { found.append(UInt32(start)) }
            line += 1
            position = unsafe body.withUnsafeBytes { unsafe EventLines.end(ofLineAt: start, in: $0) }
        }
        guard line == header.count else { throw damaged(header, at: offset, "\(line) lines of \(header.count)") }
        marks[offset] = found
        return found
    }

    private func line(
        _ number: Int, in lines: UnsafeRawBufferPointer, _ header: FixedHeader, at offset: UInt64
    ) throws(EventLogError) -> UnsafeRawBufferPointer {
        var start = 0
        for _ in 0..<number { start = unsafe EventLines.end(ofLineAt: start, in: lines) ?? lines.count }
        guard let end = unsafe EventLines.end(ofLineAt: start, in: lines) else {
            throw damaged(header, at: offset, "line \(number) of the events is missing")
        }
        return unsafe UnsafeRawBufferPointer(rebasing: lines[start..<(end - 1)])
    }

    private func damaged(_ header: FixedHeader, at offset: UInt64, _ reason: String) -> EventLogError {
        .damaged(file: path, offset: offset, sequence: header.firstSequence, reason: reason)
    }
}

extension Array {
    /// The first index for which a condition holds that holds for all later ones; the count without one.
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
