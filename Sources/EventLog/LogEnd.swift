/// How far a log has come, and room to put together what stands before the next batch's events.
struct LogEnd {
    let identity: LogIdentity
    private(set) var nextSequence: UInt64
    private(set) var lastNow: Instant
    private(set) var cursor: Cursor
    private(set) var segmentFirst: UInt64
    private(set) var segmentBytes: UInt64
    /// Made by ``setHead(_:count:cursor:now:)``; kept for its room.
    private(set) var head: [UInt8] = []

    init(_ tail: LogTail, _ identity: LogIdentity) {
        self.identity = identity
        (nextSequence, lastNow, cursor) = (tail.nextSequence, tail.lastNow, tail.cursor)
        (segmentFirst, segmentBytes) = (tail.first, tail.bytes)
    }

    /// Whether so many bytes more are too many for the segment. One without events stays, since the next would have the
    /// same name.
    func isFull(for bytes: Int, bytesMax: Int) -> Bool {
        segmentBytes > 0 && nextSequence > segmentFirst && segmentBytes + UInt64(bytes) > UInt64(bytesMax)
    }

    mutating func beginSegment() { (segmentFirst, segmentBytes) = (nextSequence, 0) }

    /// Makes what stands before the body: a header and the cursor, after the opening where a segment begins.
    mutating func setHead(
        _ body: UnsafeRawBufferPointer, count: Int, cursor advance: [UInt8], now: Instant
    ) throws(EventLogError) {
        head.removeAll(keepingCapacity: true)
        if segmentBytes == 0 {
            let whole = try cursor.encoded()
            header(.opening, now: lastNow, count: 0, cursor: whole).append(to: &head)
            head += whole
        }
        header(.batch, now: now, count: count, cursor: advance, body: body).append(to: &head)
        if !advance.isEmpty { head += advance }
    }

    /// Puts the body behind the head, so that both are one part.
    mutating func join(_ body: UnsafeRawBufferPointer) { head.append(contentsOf: body) }

    /// Takes note of a batch that was written.
    mutating func add(_ count: Int, bytes: Int, cursor advance: Cursor, now: Instant) {
        nextSequence += UInt64(count)
        segmentBytes += UInt64(bytes)
        lastNow = now
        cursor.fold(advance)
    }

    private func header(
        _ kind: FixedHeader.Kind, now: Instant, count: Int, cursor: [UInt8],
        body: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
    ) -> FixedHeader {
        FixedHeader(
            kind: kind, identity: identity.mark, firstSequence: nextSequence, now: now, count: UInt32(count),
            cursorBytes: UInt32(cursor.count), bodyBytes: UInt32(body.count),
            cursorCRC: cursor.withUnsafeBytes { CRC32C.checksum($0) }, bodyCRC: CRC32C.checksum(body))
    }
}
