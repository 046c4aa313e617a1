import Time

/// The on-disk format of a log, version 1.
///
/// A log is a folder with the log's name:
///
///     log.json                    {"format":1,"name":"matches","identity":"<uuid>"}, written atomically
///     lock                        locked by the writer (flock), contains the writer's process number
///     00000000000000000001.log    segments, named by their first sequence, 20 digits
///
/// The folder may also contain files that other types describe, such as snapshots (``SnapshotStore``).
///
/// A segment consists of batches, one directly after the other. A batch is a header, a cursor and a body. Integers are
/// little-endian:
///
///     offset  bytes
///          0      8  magic, 0x89 "BELFRY" 0x0A: never inside a body, where each 0x0A follows a }
///          8      4  CRC-32C of bytes 12 to 63
///         12      2  format version
///         14      2  kind: 0 batch, 1 opening
///         16      8  the log's identity, high word xor low word
///         24      8  first sequence
///         32      8  now, microseconds since 1970
///         40      4  count of events
///         44      4  bytes of the cursor
///         48      4  bytes of the body
///         52      4  CRC-32C of the cursor
///         56      4  CRC-32C of the body
///         60      4  zero
///         64      -  the cursor: for each entry, ordered by name, the name's length (2), its UTF-8, a sequence (8)
///          -      -  the body: `count` lines
///
/// The header has its own CRC, so its lengths can be trusted before the body is read. Only the last batch can be torn,
/// by a write that was interrupted: the file is too short, or pages of it were never written and are zeros. All other
/// wrong bytes are damage, even in the last batch.
///
/// The first batch of a segment is its **opening**. It has no events. It holds the cursor of the whole log so far, and
/// the `now` of the batch before it. So a writer opens a log by reading only the last segment, and old segments can be
/// removed. The opening is written in one step with the batch after it. If the last segment has no opening yet, the
/// writer also reads the segment before the last one.
///
/// Finding a sequence or a time needs no index file. The names of the segments show which segment has a sequence, and
/// the openings show which segment has a time. Within the segment, the reader goes from header to header.
package enum BatchFormat {
    /// The version that this build reads and writes.
    package static let version = 1

    package static let headerBytes = 64
    static let magic: UInt64 = 0x0A59_5246_4C45_4289
}

/// The 64 bytes before a batch's cursor.
struct FixedHeader: Hashable {
    enum Kind: UInt16 {
        case batch = 0
        case opening = 1
    }

    var version = UInt16(BatchFormat.version)
    var kind: Kind
    var identity: UInt64
    var firstSequence: UInt64
    var now: Instant
    var count: UInt32
    var cursorBytes: UInt32
    var bodyBytes: UInt32
    var cursorCRC: UInt32
    var bodyCRC: UInt32

    var batchBytes: Int { BatchFormat.headerBytes + Int(cursorBytes) + Int(bodyBytes) }

    func append(to bytes: inout [UInt8]) {
        let start = bytes.count
        bytes.append(contentsOf: FixedHeader.zeros)
        unsafe bytes.withUnsafeMutableBytes { unsafe store(in: UnsafeMutableRawBufferPointer(rebasing: $0[start...])) }
    }

    private static let zeros = [UInt8](repeating: 0, count: BatchFormat.headerBytes)

    /// - Parameter bytes: 64 zeros.
    private func store(in bytes: UnsafeMutableRawBufferPointer) {
        unsafe bytes.put(BatchFormat.magic, 0)
        unsafe bytes.put(version, 12)
        unsafe bytes.put(kind.rawValue, 14)
        unsafe bytes.put(identity, 16)
        unsafe bytes.put(firstSequence, 24)
        unsafe bytes.put(now.microseconds, 32)
        unsafe bytes.put(count, 40)
        unsafe bytes.put(cursorBytes, 44)
        unsafe bytes.put(bodyBytes, 48)
        unsafe bytes.put(cursorCRC, 52)
        unsafe bytes.put(bodyCRC, 56)
        unsafe bytes.put(FixedHeader.crc(ofHeader: UnsafeRawBufferPointer(bytes)), 8)
    }

    private static func crc(ofHeader bytes: UnsafeRawBufferPointer) -> UInt32 {
        unsafe CRC32C.checksum(UnsafeRawBufferPointer(rebasing: bytes[12..<BatchFormat.headerBytes]))
    }
}

extension FixedHeader {
    init(
        _ kind: Kind, _ identity: LogIdentity, first: UInt64, count: Int, now: Instant, cursor: [UInt8],
        body: UnsafeRawBufferPointer = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    ) {
        unsafe self.init(
            kind: kind, identity: identity.digest, firstSequence: first, now: now, count: UInt32(count),
            cursorBytes: UInt32(cursor.count), bodyBytes: UInt32(body.count),
            cursorCRC: CRC32C.checksum(cursor[...]), bodyCRC: CRC32C.checksum(body))
    }

    enum Decoded {
        case header(FixedHeader)
        /// The CRC is right, but the header has another version of the format.
        case otherVersion(Int)
        case wrong(String)
    }

    /// - Parameter bytes: At least 64 bytes; only the first 64 are read.
    static func decode(_ bytes: UnsafeRawBufferPointer) -> Decoded {
        guard unsafe bytes.word(0, UInt64.self) == BatchFormat.magic else {
            return .wrong("the bytes are not the beginning of a batch")
        }
        guard unsafe bytes.word(8, UInt32.self) == crc(ofHeader: bytes) else {
            return .wrong("the CRC does not match the header")
        }
        let version = unsafe bytes.word(12, UInt16.self)
        guard version == BatchFormat.version else { return .otherVersion(Int(version)) }
        guard let kind = unsafe Kind(rawValue: bytes.word(14, UInt16.self)) else {
            return .wrong("unknown kind of batch")
        }
        let header = unsafe FixedHeader(
            version: version, kind: kind, identity: bytes.word(16, UInt64.self),
            firstSequence: bytes.word(24, UInt64.self), now: Instant(microseconds: bytes.word(32, Int64.self)),
            count: bytes.word(40, UInt32.self), cursorBytes: bytes.word(44, UInt32.self),
            bodyBytes: bytes.word(48, UInt32.self), cursorCRC: bytes.word(52, UInt32.self),
            bodyCRC: bytes.word(56, UInt32.self))
        return header.isWithinLimits ? .header(header) : .wrong("a length or number is out of bounds")
    }

    private var isWithinLimits: Bool {
        cursorBytes <= EventLogLimits.cursorBytesMax && bodyBytes <= EventLogLimits.batchBytesMax
            && count <= bodyBytes && (count > 0 || bodyBytes == 0) && (kind == .batch || count == 0)
            && firstSequence >= 1 && firstSequence < UInt64(Int64.max)
    }
}

extension LogIdentity {
    /// A digest of the identity. Each batch stores this digest, so that a segment of another log is recognised.
    var digest: UInt64 { high ^ low }
}

extension UnsafeRawBufferPointer {
    func word<Word: FixedWidthInteger>(_ offset: Int, _: Word.Type) -> Word {
        unsafe Word(littleEndian: loadUnaligned(fromByteOffset: offset, as: Word.self))
    }
}

extension UnsafeMutableRawBufferPointer {
    fileprivate func put(_ word: some FixedWidthInteger, _ offset: Int) {
        unsafe storeBytes(of: word.littleEndian, toByteOffset: offset, as: type(of: word))
    }
}

extension [UInt8] {
    mutating func put(_ word: some FixedWidthInteger) {
        unsafe Swift.withUnsafeBytes(of: word.littleEndian) { unsafe append(contentsOf: $0) }
    }

    /// Overwrites bytes that exist already.
    mutating func put(_ word: some FixedWidthInteger, at offset: Int) {
        unsafe withUnsafeMutableBytes { unsafe $0.put(word, offset) }
    }
}

extension String {
    /// A number with leading zeros.
    init(_ number: some BinaryInteger, digits: Int, radix: Int = 10) {
        let text = String(number, radix: radix)
        self = String(repeating: "0", count: Swift.max(digits - text.utf8.count, 0)) + text
    }
}
