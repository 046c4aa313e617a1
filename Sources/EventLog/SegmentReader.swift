import Glibc
import Time

/// Reads the batches of one segment, and distinguishes torn batches from damage.
final class SegmentReader {
    @unsafe enum Finding {
        /// A whole batch; ``consume(_:)`` moves on to the next one.
        case batch(SegmentBatch)
        /// The file ends here, after a whole batch or before its first batch.
        case end
        /// The file ends in a batch that is being written, or whose writing was interrupted; see
        /// ``SegmentReader/reasonForTear(_:)``.
        case unfinished(String)
    }

    let first: UInt64
    let file: OpenFile
    private(set) var offset: UInt64
    /// The sequence that the next batch must begin with.
    private(set) var nextSequence: UInt64
    private(set) var lastNow: Instant

    private let identity: LogIdentity
    private let buffer: ReadBuffer

    /// - Parameter start: The offset and first sequence of a batch; nil for the segment's first batch.
    init(
        _ file: OpenFile, first: UInt64, identity: LogIdentity, lastNow: Instant = .epoch,
        buffer: ReadBuffer = ReadBuffer(), start: (offset: UInt64, sequence: UInt64)? = nil
    ) {
        self.file = file
        self.lastNow = lastNow
        self.first = first
        self.identity = identity
        self.buffer = buffer
        offset = start?.offset ?? 0
        nextSequence = start?.sequence ?? first
        buffer.drop()
    }

    /// - Parameter lastNow: The log's time before the batch at `start`.
    convenience init(
        _ log: LogDirectory, _ first: UInt64, _ identity: LogIdentity, lastNow: Instant = .epoch,
        buffer: ReadBuffer = ReadBuffer(), start: (offset: UInt64, sequence: UInt64)? = nil
    ) throws(EventLogError) {
        self.init(
            try OpenFile(log.segmentPath(first), O_RDONLY), first: first, identity: identity, lastNow: lastNow,
            buffer: buffer, start: start)
    }

    /// Finds the next batch without moving on.
    ///
    /// - Parameter withBody: Whether to read the body and check its CRC.
    /// - Throws: ``EventLogError/damaged(file:offset:sequence:reason:)`` for wrong bytes that are not a torn batch, and
    ///   for a batch that does not continue the batches before it; ``EventLogError/unsupportedFormat(file:version:)``.
    func peek(withBody: Bool = true) throws(EventLogError) -> Finding {
        var look = try unsafe look(withBody: withBody)
        if unsafe look.mayBeStale {
            buffer.drop()
            unsafe look = try self.look(withBody: withBody)
        }
        switch unsafe look {
        case .batch(let batch): return unsafe .batch(batch)
        case .end: return unsafe .end
        case .short(let reason): return unsafe .unfinished(reason)
        case .wrong(let reason, let suspect):
            guard let tear = try reasonForTear(suspect) else { throw damaged(reason) }
            return unsafe .unfinished(tear)
        }
    }

    func consume(_ batch: SegmentBatch) {
        unsafe offset += UInt64(batch.fixed.batchBytes)
        nextSequence = unsafe batch.header.nextSequence
        lastNow = unsafe batch.header.now
    }

    /// Skips all whole batches without reading their bodies.
    func skipToEnd() throws(EventLogError) {
        while case .batch(let batch) = try unsafe peek(withBody: false) { unsafe consume(batch) }
    }

    /// Moves on to the next intact header after damage. Returns false if there is no such header.
    func skipDamage() throws(EventLogError) -> Bool {
        guard let (offset, header) = try nextHeader(from: offset + 1) else { return false }
        self.offset = offset
        nextSequence = header.firstSequence
        lastNow = header.now
        return true
    }

    /// The message if the next segment begins with `first` instead of ``nextSequence``.
    func gap(to first: UInt64) -> String {
        let missing = nextSequence < first ? ": \(nextSequence) to \(first - 1) are missing" : ""
        return "the next segment begins with sequence \(first)\(missing)"
    }

    func damaged(_ reason: String) -> EventLogError {
        .damaged(file: file.path, offset: offset, sequence: nextSequence, reason: reason)
    }

    func problem(_ reason: String) -> VerifyReport.Problem {
        VerifyReport.Problem(file: file.path, offset: offset, sequence: nextSequence, reason: reason)
    }
}

/// A batch in a segment. `body` is empty if it was not asked for, and valid until the segment is read again.
@unsafe struct SegmentBatch {
    var header: BatchHeader
    var body: UnsafeRawBufferPointer
    var fixed: FixedHeader

    var isOpening: Bool { unsafe fixed.kind == .opening }
}

extension SegmentReader {
    /// A first judgement of the bytes, before looking at the bytes after them.
    @unsafe private enum Look {
        case batch(SegmentBatch)
        case end
        case short(String)
        case wrong(String, Suspect)

        /// Whether the buffered bytes may be out of date. A writer that runs out of room removes the part of a batch
        /// that it has written, and may write another batch there.
        var mayBeStale: Bool {
            switch unsafe self {
            case .batch, .end: false
            case .short, .wrong: true
            }
        }
    }

    private func look(withBody: Bool) throws(EventLogError) -> Look {
        let start = try unsafe bytes(BatchFormat.headerBytes, at: offset, withBody: withBody)
        if unsafe start.isEmpty { return unsafe .end }
        guard start.count == BatchFormat.headerBytes else {
            return unsafe .wrong("the bytes are not the beginning of a batch", .shortHeader(Array(start)))
        }
        switch unsafe FixedHeader.decode(start) {
        case .wrong(let reason): return unsafe .wrong(reason, .header)
        case .otherVersion(let version): throw .unsupportedFormat(file: file.path, version: version)
        case .header(let fixed):
            try check(fixed)
            return try unsafe look(behind: fixed, withBody: withBody)
        }
    }

    private func look(behind fixed: FixedHeader, withBody: Bool) throws(EventLogError) -> Look {
        let needed = fixed.batchBytes - (withBody ? 0 : Int(fixed.bodyBytes))
        let batch = try unsafe bytes(needed, at: offset, withBody: withBody)
        let present = withBody || batch.count < needed ? batch.count : try bytesPresent(of: fixed)
        guard present == fixed.batchBytes else {
            return unsafe .short("only \(present) of the batch's \(fixed.batchBytes) bytes are there")
        }
        let cursorEnd = BatchFormat.headerBytes + Int(fixed.cursorBytes)
        let cursorBytes = unsafe UnsafeRawBufferPointer(rebasing: batch[BatchFormat.headerBytes..<cursorEnd])
        guard unsafe CRC32C.checksum(cursorBytes) == fixed.cursorCRC, let cursor = unsafe Cursor(encoded: cursorBytes)
        else {
            return unsafe .wrong(
                "the CRC does not match the cursor", .content(fixed, part(BatchFormat.headerBytes..<cursorEnd)))
        }
        let bodyBytes = unsafe UnsafeRawBufferPointer(rebasing: batch[cursorEnd...])
        guard unsafe !withBody || CRC32C.checksum(bodyBytes) == fixed.bodyCRC else {
            return unsafe .wrong(
                "the CRC does not match the events", .content(fixed, part(cursorEnd..<fixed.batchBytes)))
        }
        return unsafe .batch(SegmentBatch(header: BatchHeader(fixed, cursor), body: bodyBytes, fixed: fixed))
    }

    /// Checks that an intact header belongs to this log, and that it continues the batches before it.
    private func check(_ fixed: FixedHeader) throws(EventLogError) {
        guard fixed.identity == identity.digest else { throw damaged("the batch belongs to another log") }
        guard fixed.firstSequence == nextSequence else {
            throw damaged(
                "the batch begins with sequence \(fixed.firstSequence), but sequence \(nextSequence) is next")
        }
        guard fixed.now >= lastNow else { throw damaged("time goes back from \(lastNow) to \(fixed.now)") }
        guard (fixed.kind == .opening) == (offset == 0) else {
            throw damaged(offset == 0 ? "the segment has no opening" : "the segment has a second opening")
        }
    }

    private func bytesPresent(of fixed: FixedHeader) throws(EventLogError) -> Int {
        if buffer.holds(fixed.batchBytes, at: offset) { return fixed.batchBytes }
        let size = try file.size()
        return size < offset ? 0 : Int(min(size - offset, UInt64(fixed.batchBytes)))
    }

    /// The position of a part of the batch in the file.
    private func part(_ range: Range<Int>) -> Range<UInt64> {
        offset + UInt64(range.lowerBound)..<offset + UInt64(range.upperBound)
    }

    /// As many bytes as asked for, or fewer at the end of the file. They are valid until the segment is read
    /// again.
    func bytes(_ count: Int, at offset: UInt64) throws(EventLogError) -> UnsafeRawBufferPointer {
        try unsafe bytes(count, at: offset, withBody: true)
    }

    private func bytes(
        _ count: Int, at offset: UInt64, withBody: Bool
    ) throws(EventLogError) -> UnsafeRawBufferPointer {
        try unsafe buffer.bytes(count, at: offset, of: file, ahead: withBody ? 256 << 10 : 8 << 10)
    }

    /// The first intact header of this log at or after an offset; nil if there is no such header.
    func nextHeader(from offset: UInt64) throws(EventLogError) -> (offset: UInt64, header: FixedHeader)? {
        var (start, windowBytes) = (offset, 16 << 10)
        while true {
            let window = try unsafe buffer.bytes(windowBytes, at: start, of: file, ahead: windowBytes)
            if let (index, header) = unsafe window.firstHeader(of: identity) { return (start + UInt64(index), header) }
            if window.count < windowBytes { return nil }
            start += UInt64(windowBytes - BatchFormat.headerBytes + 1)
            windowBytes = min(2 * windowBytes, 256 << 10)
        }
    }
}

extension BatchHeader {
    fileprivate init(_ fixed: FixedHeader, _ cursor: Cursor) {
        self.init(
            firstSequence: fixed.firstSequence, count: Int(fixed.count), now: fixed.now, cursor: cursor,
            bodyBytes: Int(fixed.bodyBytes))
    }
}

extension UnsafeRawBufferPointer {
    /// The log's first header that is whole and has a right CRC, with its offset; nil if there is no such header.
    fileprivate func firstHeader(of identity: LogIdentity) -> (Int, FixedHeader)? {
        let firstByte = CInt(truncatingIfNeeded: BatchFormat.magic & 0xFF)
        var index = 0
        while index + BatchFormat.headerBytes <= count, let start = baseAddress,
            let hit = unsafe memchr(start + index, firstByte, count - index)
        {
            index = unsafe start.distance(to: hit)
            guard index + BatchFormat.headerBytes <= count else { return nil }
            if case .header(let header) = unsafe FixedHeader.decode(UnsafeRawBufferPointer(rebasing: self[index...])),
                header.identity == identity.digest
            {
                return (index, header)
            }
            index += 1
        }
        return nil
    }
}
