import Time

/// How an index looks on disk, format 1. This is the one place that knows.
///
/// Beside a log, in its folder `index`, there may be one file for each segment, `00000000000000000001.index`, named as
/// the segment. It can be thrown away: it is made anew from the segment. It is a header and then blocks, in the order
/// of the segment; a block stands for a whole number of batches. Integers are little-endian.
///
///     header                                            block
///     offset  bytes                                     offset  bytes
///          0      8  magic, 0x89 "BFINDX" 0x0A               0      4  CRC-32C of bytes 4 to 63, xor the file's mark
///          8      4  CRC-32C of bytes 12 to 63               4      4  lines of the filter
///         12      4  format version                          8      8  first sequence
///         16     16  the log's identity                     16      4  count of events
///         32      8  the key scheme                         20      4  CRC of the last batch's header, from the log
///         40      8  the segment's first sequence           24      8  offset in the segment
///         48      4  events after which a block ends        32      8  bytes in the segment
///         52      4  bytes after which a block ends         40      8  offset of the last batch
///         56      8  zero                                   48      8  now before the first batch
///                                                           56      8  now of the last batch
///                                                           64      -  the filter, see ``BlockFilter``
///
/// The last batch's header is compared with the log's: a log only grows or is cut back at its end, so that where this
/// batch is still what it was, all before it is.
enum IndexFormat {
    static let version: UInt32 = 1
    static let headerBytes = 64
    static let headBytes = 64
    static let magic: UInt64 = 0x0A58_444E_4946_4289
    static let folder = "index"
}

/// When a block ends: after the batch with which it has so much.
package struct BlockLimits: Hashable, Sendable {
    package var events: Int
    package var bytes: Int

    package init(events: Int = 2048, bytes: Int = 1 << 20) {
        self.events = events
        self.bytes = bytes
    }
}

/// What an index file is of: all that must be the same for it to be of use.
struct IndexHeader: Hashable {
    var identity: LogIdentity
    var scheme: UInt64
    var segment: UInt64
    var limits: BlockLimits

    var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.put(IndexFormat.magic)
        bytes.put(UInt32(0))
        bytes.put(IndexFormat.version)
        for word in [identity.high, identity.low, scheme, segment] { bytes.put(word) }
        bytes.put(UInt32(clamping: limits.events))
        bytes.put(UInt32(clamping: limits.bytes))
        bytes.put(UInt64(0))
        unsafe bytes.withUnsafeMutableBytes { bytes in
            let crc = unsafe CRC32C.checksum(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes)[12...]))
            unsafe bytes.storeBytes(of: crc.littleEndian, toByteOffset: 8, as: UInt32.self)
        }
        return bytes
    }

    /// The identity of the log that a file is of; nil where its header is not right.
    static func identity(of file: OpenFile) throws(EventLogError) -> LogIdentity? {
        let bytes = try file.contents(bytesMax: IndexFormat.headerBytes)
        return unsafe bytes.withUnsafeBytes { bytes in
            guard bytes.count == IndexFormat.headerBytes, unsafe bytes.word(0, UInt64.self) == IndexFormat.magic,
                unsafe CRC32C.checksum(UnsafeRawBufferPointer(rebasing: bytes[12...])) == bytes.word(8, UInt32.self)
            else { return nil }
            return unsafe LogIdentity(high: bytes.word(16, UInt64.self), low: bytes.word(24, UInt64.self))
        }
    }

    /// Mixed into each block's CRCs, so that no block of another file is taken for one of this.
    var mark: UInt64 { IndexHeader.mark(ofEncoded: encoded) }

    static func mark(ofEncoded bytes: [UInt8]) -> UInt64 {
        var hash = KeyHash(kind: 1)
        unsafe bytes.withUnsafeBytes { unsafe hash.absorb($0) }
        return hash.value
    }
}

/// What stands before a block's filter.
struct BlockHead: Hashable, Sendable {
    var lines: Int
    var firstSequence: UInt64
    var count: Int
    var lastBatchCRC: UInt32
    var offset: UInt64
    var bytes: UInt64
    var lastBatchOffset: UInt64
    var nowBefore: Instant
    var now: Instant

    var nextSequence: UInt64 { firstSequence + UInt64(count) }
    var end: UInt64 { offset + bytes }
    var fileBytes: Int { IndexFormat.headBytes + lines * BlockFilter.lineBytes }

    func salt(_ mark: UInt64) -> UInt64 { Mixer.scramble(mark ^ firstSequence) &+ offset }

    func encoded(mark: UInt64) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.put(UInt32(0))
        bytes.put(UInt32(lines))
        bytes.put(firstSequence)
        bytes.put(UInt32(count))
        bytes.put(lastBatchCRC)
        for word in [offset, self.bytes, lastBatchOffset] { bytes.put(word) }
        bytes.put(nowBefore.microseconds)
        bytes.put(now.microseconds)
        unsafe bytes.withUnsafeMutableBytes { bytes in
            let crc = unsafe BlockHead.crc(UnsafeRawBufferPointer(bytes), mark)
            unsafe bytes.storeBytes(of: crc.littleEndian, toByteOffset: 0, as: UInt32.self)
        }
        return bytes
    }

    /// Nil where the bytes are not a head of the file with that mark.
    init?(_ bytes: UnsafeRawBufferPointer, mark: UInt64) {
        guard bytes.count == IndexFormat.headBytes, unsafe bytes.word(0, UInt32.self) == BlockHead.crc(bytes, mark),
            unsafe bytes.word(4, UInt32.self) <= BlockFilter.linesMax
        else { return nil }
        lines = unsafe Int(bytes.word(4, UInt32.self))
        firstSequence = unsafe bytes.word(8, UInt64.self)
        count = unsafe Int(bytes.word(16, UInt32.self))
        lastBatchCRC = unsafe bytes.word(20, UInt32.self)
        offset = unsafe bytes.word(24, UInt64.self)
        self.bytes = unsafe bytes.word(32, UInt64.self)
        lastBatchOffset = unsafe bytes.word(40, UInt64.self)
        nowBefore = unsafe Instant(microseconds: bytes.word(48, Int64.self))
        now = unsafe Instant(microseconds: bytes.word(56, Int64.self))
    }

    init(
        lines: Int, firstSequence: UInt64, count: Int, lastBatchCRC: UInt32, offset: UInt64, bytes: UInt64,
        lastBatchOffset: UInt64, nowBefore: Instant, now: Instant
    ) {
        self.lines = lines
        self.firstSequence = firstSequence
        self.count = count
        self.lastBatchCRC = lastBatchCRC
        self.offset = offset
        self.bytes = bytes
        self.lastBatchOffset = lastBatchOffset
        self.nowBefore = nowBefore
        self.now = now
    }

    private static func crc(_ bytes: UnsafeRawBufferPointer, _ mark: UInt64) -> UInt32 {
        unsafe CRC32C.checksum(UnsafeRawBufferPointer(rebasing: bytes[4..<IndexFormat.headBytes]))
            ^ UInt32(truncatingIfNeeded: mark)
    }
}
