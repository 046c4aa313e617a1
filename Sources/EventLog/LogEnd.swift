import Time

/// A batch to append.
@unsafe struct NewBatch {
    var body: UnsafeRawBufferPointer
    var count: Int
    var cursor: Cursor
    var cursorBytes: [UInt8]
    var now: Instant

    var bytes: Int { unsafe BatchFormat.headerBytes + cursorBytes.count + body.count }
}

/// The place of a batch that a writer has just appended.
package struct AppendedBatch: Sendable {
    let segmentFirst: UInt64
    /// Where the batch begins in its segment.
    let offset: UInt64
    let firstSequence: UInt64
    let bytes: Int
    /// Offsets of lines in the body of a large batch; nil for other batches.
    let lines: LineOffsets?
}

/// The end of a log, where the next batch is written.
struct LogEnd {
    let identity: LogIdentity
    private(set) var nextSequence: UInt64
    private(set) var lastNow: Instant
    private(set) var cursor: Cursor
    private(set) var segmentFirst: UInt64
    private(set) var segmentBytes: UInt64
    /// The bytes of a batch before its body. ``write(_:to:_:)`` appends a small body, too. The array is reused for the
    /// next batch to save an allocation.
    private var head: [UInt8] = []

    init(_ opened: OpenedSegment, _ identity: LogIdentity) {
        self.init(opened.state, identity, segmentFirst: opened.first, segmentBytes: opened.bytes)
    }

    init(_ state: OpenedSegment.State, _ identity: LogIdentity, segmentFirst: UInt64, segmentBytes: UInt64) {
        self.identity = identity
        (nextSequence, lastNow, cursor) = (state.nextSequence, state.lastNow, state.cursor)
        (self.segmentFirst, self.segmentBytes) = (segmentFirst, segmentBytes)
    }

    /// Whether a batch of this size needs a new segment. False for a segment without events, because the new segment
    /// would have the same name.
    func isFull(for bytes: Int, bytesMax: Int) -> Bool {
        segmentBytes > 0 && nextSequence > segmentFirst && segmentBytes + UInt64(bytes) > UInt64(bytesMax)
    }

    /// The place of a batch that was just written.
    func place(of batch: NewBatch) -> AppendedBatch {
        unsafe AppendedBatch(
            segmentFirst: segmentFirst, offset: segmentBytes - UInt64(batch.bytes),
            firstSequence: nextSequence - UInt64(batch.count), bytes: batch.bytes,
            lines: LineOffsets(ofLarge: batch.body))
    }

    mutating func beginSegment() { (segmentFirst, segmentBytes) = (nextSequence, 0) }

    /// A body up to this size is copied behind its head, because the copy costs less than writing two parts.
    private static let joinedBytesMax = 4 << 10

    /// Writes the batch and moves the end. If the write fails, the file may contain a part of the batch, and the end
    /// does not move.
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

    /// Sets ``head`` to the batch's header and cursor; in a new segment the opening comes first.
    private mutating func setHead(_ batch: NewBatch) throws(EventLogError) {
        head.removeAll(keepingCapacity: true)
        if segmentBytes == 0 {
            let whole = try cursor.encoded()
            unsafe FixedHeader(.opening, identity, first: nextSequence, count: 0, now: lastNow, cursor: whole)
                .append(to: &head)
            head += whole
        }
        let header = unsafe FixedHeader(
            .batch, identity, first: nextSequence, count: batch.count, now: batch.now, cursor: batch.cursorBytes,
            body: batch.body)
        header.append(to: &head)
        if unsafe !batch.cursorBytes.isEmpty { unsafe head += batch.cursorBytes }
    }

    private mutating func add(_ batch: NewBatch, _ bytes: Int) {
        unsafe nextSequence += UInt64(batch.count)
        segmentBytes += UInt64(bytes)
        lastNow = unsafe batch.now
        if unsafe !batch.cursorBytes.isEmpty { unsafe cursor.fold(batch.cursor) }
    }
}
