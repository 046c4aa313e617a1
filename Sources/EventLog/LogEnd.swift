import Time

/// A batch on its way into a log.
@unsafe struct NewBatch {
    var body: UnsafeRawBufferPointer
    var count: Int
    var cursor: Cursor
    var cursorBytes: [UInt8]
    var now: Instant

    var bytes: Int { unsafe BatchFormat.headerBytes + cursorBytes.count + body.count }
}

/// How far a log has come, and room to put together what stands before the next batch's events.
struct LogEnd {
    let identity: LogIdentity
    private(set) var nextSequence: UInt64
    private(set) var lastNow: Instant
    private(set) var cursor: Cursor
    private(set) var segmentFirst: UInt64
    private(set) var segmentBytes: UInt64
    /// What stands before a batch's body; kept for its room.
    private var head: [UInt8] = []

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

    /// A short body is written from behind its head: copying it costs less than a second part.
    private static let joinedBytesMax = 4 << 10

    /// Writes the batch and goes on behind it. Where that fails, part of it may be in the file, and nothing else has
    /// changed.
    mutating func write(_ batch: NewBatch, to file: OpenFile, _ call: FileCalls.Write) throws(EventLogError) {
        try unsafe setHead(batch)
        let bytes = unsafe head.count + batch.body.count
        var body = unsafe batch.body
        if body.count <= LogEnd.joinedBytesMax {
            unsafe head.append(contentsOf: body)
            unsafe body = UnsafeRawBufferPointer(start: nil, count: 0)
        }
        if let code = unsafe head.withUnsafeBytes({ unsafe file.write($0, body, at: segmentBytes, call) }) {
            throw EventLogError.failed(operation: "append to", file: file.path, errno: code)
                .orFull(bytesNeeded: bytes)
        }
        unsafe add(batch, bytes)
    }

    /// Makes what stands before the body: a header and the cursor, after the opening where a segment begins.
    private mutating func setHead(_ batch: NewBatch) throws(EventLogError) {
        head.removeAll(keepingCapacity: true)
        if segmentBytes == 0 {
            let whole = try cursor.encoded()
            unsafe header(.opening, now: lastNow, count: 0, cursor: whole).append(to: &head)
            head += whole
        }
        unsafe header(.batch, now: batch.now, count: batch.count, cursor: batch.cursorBytes, body: batch.body)
            .append(to: &head)
        if unsafe !batch.cursorBytes.isEmpty { unsafe head += batch.cursorBytes }
    }

    private mutating func add(_ batch: NewBatch, _ bytes: Int) {
        unsafe nextSequence += UInt64(batch.count)
        segmentBytes += UInt64(bytes)
        lastNow = unsafe batch.now
        if unsafe !batch.cursorBytes.isEmpty { unsafe cursor.fold(batch.cursor) }
    }

    private func header(
        _ kind: FixedHeader.Kind, now: Instant, count: Int, cursor: [UInt8],
        body: UnsafeRawBufferPointer = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    ) -> FixedHeader {
        unsafe FixedHeader(
            kind: kind, identity: identity.mark, firstSequence: nextSequence, now: now, count: UInt32(count),
            cursorBytes: UInt32(cursor.count), bodyBytes: UInt32(body.count),
            cursorCRC: cursor.withUnsafeBytes { unsafe CRC32C.checksum($0) }, bodyCRC: unsafe CRC32C.checksum(body))
    }
}
