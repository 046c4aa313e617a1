import Time

/// The batches of a message from a log's home, checked.
@safe struct HomeBatches {
    struct Batch {
        let fixed: FixedHeader
        let cursor: Cursor
        /// The events in ``HomeBatches/bytes``.
        let body: Range<Int>
    }

    let bytes: [UInt8]
    /// The log's state before the first batch.
    let start: OpenedSegment.State
    let batches: [Batch]

    /// - Throws: ``EventLogError/unusableHome(log:reason:)`` if the bytes are not an opening and whole batches of this
    ///   log without gaps.
    init(_ bytes: [UInt8], position: UInt64, of log: String, _ identity: LogIdentity) throws(EventLogError) {
        func fail(_ reason: String) -> EventLogError {
            .unusableHome(log: log, reason: "message \(position) is damaged: \(reason)")
        }
        var batches: [Batch] = []
        var start: OpenedSegment.State?
        var (offset, next, now) = (0, UInt64(0), Instant.epoch)
        while offset < bytes.count {
            guard let (fixed, cursor) = HomeBatches.head(bytes, at: offset) else {
                throw fail("the bytes from \(offset) on are not the beginning of a batch")
            }
            let end = offset + fixed.batchBytes
            let body = end - Int(fixed.bodyBytes)..<end
            guard end <= bytes.count, CRC32C.checksum(bytes[body]) == fixed.bodyCRC else {
                throw fail("the batch at byte \(offset) is not whole, or its CRC does not match")
            }
            guard fixed.identity == identity.digest else { throw fail("it belongs to another log") }
            guard (fixed.kind == .opening) == (offset == 0) else {
                throw fail(offset == 0 ? "it does not begin with an opening" : "it has a second opening")
            }
            if offset == 0 {
                start = OpenedSegment.State(nextSequence: fixed.firstSequence, lastNow: fixed.now, cursor: cursor)
            } else {
                guard fixed.firstSequence == next, fixed.now >= now else {
                    throw fail("the batch at byte \(offset) does not continue the one before it")
                }
                batches.append(Batch(fixed: fixed, cursor: cursor, body: body))
            }
            (offset, next, now) = (end, fixed.firstSequence + UInt64(fixed.count), fixed.now)
        }
        guard let start, !batches.isEmpty else { throw fail("it has no batch") }
        (self.bytes, self.start, self.batches) = (bytes, start, batches)
    }

    /// The header and the cursor of the batch at an offset. Nil if they are not whole or a CRC does not match.
    static func head(_ bytes: [UInt8], at offset: Int) -> (FixedHeader, Cursor)? {
        unsafe bytes.withUnsafeBytes { all in
            let rest = unsafe UnsafeRawBufferPointer(rebasing: all[offset...])
            guard rest.count >= BatchFormat.headerBytes, case .header(let fixed) = unsafe FixedHeader.decode(rest)
            else { return nil }
            let cursorEnd = BatchFormat.headerBytes + Int(fixed.cursorBytes)
            guard cursorEnd <= rest.count else { return nil }
            let cursorBytes = unsafe UnsafeRawBufferPointer(rebasing: rest[BatchFormat.headerBytes..<cursorEnd])
            guard unsafe CRC32C.checksum(cursorBytes) == fixed.cursorCRC,
                let cursor = unsafe Cursor(encoded: cursorBytes)
            else { return nil }
            return (fixed, cursor)
        }
    }
}

extension EventLogLimits {
    /// The sequence of the first event in a message from a log's home; nil if the bytes do not begin with an opening.
    package static func firstSequence(ofMessage bytes: [UInt8]) -> UInt64? {
        guard let (fixed, _) = HomeBatches.head(bytes, at: 0), fixed.kind == .opening else { return nil }
        return fixed.firstSequence
    }
}
