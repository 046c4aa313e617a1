import Time

/// The on-disk format of an index, version 1.
///
/// The folder `index` of a log has a file for each segment, with the segment's name: `00000000000000000001.index`. Such
/// a file may be deleted, because it can be made again from the segment. The file consists of a header, and of blocks
/// in the segment's order. A block covers whole batches. Integers are little-endian.
///
///     header                                            block
///     offset  bytes                                     offset  bytes
///          0      8  magic, 0x89 "BFINDX" 0x0A               0      4  CRC-32C of bytes 4 to 63, xor the digest below
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
/// The digest is made from the file's header: the low 32 bits of ``IndexHeader/digest``.
///
/// The CRC of the last batch's header is compared with the segment. A segment only grows, or is cut off at its end. So
/// if this batch is unchanged, all batches before it are unchanged too.
enum IndexFormat {
    static let version: UInt32 = 1
    static let headerBytes = 64
    static let blockHeadBytes = 64
    static let magic: UInt64 = 0x0A58_444E_4946_4289
    static let folder = "index"
}

/// A block ends with the batch that reaches one of these limits.
package struct BlockLimits: Hashable, Sendable {
    package var events: Int
    package var bytes: Int

    package init(events: Int = 2048, bytes: Int = 1 << 20) {
        self.events = events
        self.bytes = bytes
    }
}

/// Says what an index file was made from. A file with another header is not used.
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
        bytes.put(CRC32C.checksum(bytes[12...]), at: 8)
        return bytes
    }

    /// The identity of the log that a file belongs to; nil if its header is damaged.
    static func identity(of file: OpenFile) throws(EventLogError) -> LogIdentity? {
        let bytes = try file.bytes(IndexFormat.headerBytes, at: 0)
        return unsafe bytes.withUnsafeBytes { bytes in
            guard bytes.count == IndexFormat.headerBytes, unsafe bytes.word(0, UInt64.self) == IndexFormat.magic,
                unsafe CRC32C.checksum(UnsafeRawBufferPointer(rebasing: bytes[12...])) == bytes.word(8, UInt32.self)
            else { return nil }
            return unsafe LogIdentity(high: bytes.word(16, UInt64.self), low: bytes.word(24, UInt64.self))
        }
    }

    /// Mixed into each block's CRCs, so that a block of another file is recognised.
    var digest: UInt64 { IndexHeader.digest(ofEncoded: encoded) }

    static func digest(ofEncoded bytes: [UInt8]) -> UInt64 {
        var hash = KeyHash(kind: 1)
        unsafe bytes.withUnsafeBytes { unsafe hash.absorb($0) }
        return hash.value
    }
}

/// The bytes of a block before its filter.
struct BlockHead: Hashable, Sendable {
    var filterLines: Int
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
    var fileBytes: Int { IndexFormat.blockHeadBytes + filterLines * BlockFilter.lineBytes }

    func salt(_ digest: UInt64) -> UInt64 { Mixer.scramble(digest ^ firstSequence) &+ offset }
}

extension BlockHead {
    func encoded(digest: UInt64) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.put(UInt32(0))
        bytes.put(UInt32(filterLines))
        bytes.put(firstSequence)
        bytes.put(UInt32(count))
        bytes.put(lastBatchCRC)
        for word in [offset, self.bytes, lastBatchOffset] { bytes.put(word) }
        bytes.put(nowBefore.microseconds)
        bytes.put(now.microseconds)
        bytes.put(BlockHead.crc(bytes, digest), at: 0)
        return bytes
    }

    /// Nil if the bytes are not an intact block head of the file with this digest.
    init?(_ bytes: [UInt8], digest: UInt64) {
        guard bytes.count == IndexFormat.blockHeadBytes else { return nil }
        let (crc, head) = unsafe bytes.withUnsafeBytes { unsafe ($0.word(0, UInt32.self), BlockHead(fields: $0)) }
        guard crc == BlockHead.crc(bytes, digest), head.filterLines <= BlockFilter.linesMax else { return nil }
        self = head
    }

    private init(fields bytes: UnsafeRawBufferPointer) {
        unsafe self.init(
            filterLines: Int(bytes.word(4, UInt32.self)), firstSequence: bytes.word(8, UInt64.self),
            count: Int(bytes.word(16, UInt32.self)), lastBatchCRC: bytes.word(20, UInt32.self),
            offset: bytes.word(24, UInt64.self), bytes: bytes.word(32, UInt64.self),
            lastBatchOffset: bytes.word(40, UInt64.self), nowBefore: Instant(microseconds: bytes.word(48, Int64.self)),
            now: Instant(microseconds: bytes.word(56, Int64.self)))
    }

    private static func crc(_ bytes: [UInt8], _ digest: UInt64) -> UInt32 {
        CRC32C.checksum(bytes[4...]) ^ UInt32(truncatingIfNeeded: digest)
    }
}
