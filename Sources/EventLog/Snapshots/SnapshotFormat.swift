import Time

/// The on-disk format of a snapshot, version 1.
///
/// A file `<own sequence>-<upstream sequence>.snapshot`, 20 digits each. Integers are little-endian:
///
///     offset  bytes
///          0      8  magic, 0x89 "BSNAPS" 0x0A
///          8      4  CRC-32C of the bytes from 12 to the state
///         12      2  format version
///         14      2  zero
///         16      4  length of the stage's kind in bytes
///         20      4  length of the cursor in bytes
///         24      8  version of the state
///         32     16  identity of the stage's log, high word first
///         48     16  identity of the upstream's log
///         64      8  last sequence of the stage's log
///         72      8  the stage's time, microseconds since 1970
///         80      8  length of the state in bytes
///         88      4  CRC-32C of the state
///         92      4  zero
///         96      -  the kind in UTF-8; the cursor as in ``BatchFormat``; the state
struct SnapshotFormat {
    static let version = 1
    static let fixedBytes = 96
    static let kindBytesMax = 255
    private static let magic: UInt64 = 0x0A53_5041_4E53_4289

    var header: SnapshotHeader
    var stateBytes: UInt64
    var stateCRC: UInt32

    func encoded() throws(EventLogError) -> [UInt8] {
        let (kind, cursor) = (Array(header.stage.utf8), try header.cursor.encoded())
        guard kind.count <= SnapshotFormat.kindBytesMax else {
            throw .tooLarge("a stage's kind", bytes: kind.count, bytesMax: SnapshotFormat.kindBytesMax)
        }
        var bytes: [UInt8] = []
        bytes.put(SnapshotFormat.magic)
        bytes.put(UInt32(0))
        bytes.put(UInt16(SnapshotFormat.version))
        bytes.put(UInt16(0))
        bytes.put(UInt32(kind.count))
        bytes.put(UInt32(cursor.count))
        bytes.put(Int64(header.version))
        for word in [header.log.high, header.log.low, header.upstream.high, header.upstream.low] { bytes.put(word) }
        bytes.put(header.sequence)
        bytes.put(header.now.microseconds)
        bytes.put(stateBytes)
        bytes.put(stateCRC)
        bytes.put(UInt32(0))
        bytes += kind + cursor
        bytes.put(CRC32C.checksum(bytes[12...]), at: 8)
        return bytes
    }

    var fileName: String {
        "\(String(header.sequence, digits: 20))-\(String(header.position, digits: 20))\(SnapshotFormat.suffix)"
    }

    static let suffix = ".snapshot"

    static func isName(_ text: String) -> Bool {
        let parts = text.dropLast(suffix.count).split(separator: "-", omittingEmptySubsequences: false)
        return text.hasSuffix(suffix) && parts.count == 2
            && parts.allSatisfy { $0.utf8.count == 20 && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
    }
}

extension SnapshotFormat {
    /// The lengths of the parts before the state.
    struct Lengths {
        var kind: Int
        var cursor: Int
        var all: Int { SnapshotFormat.fixedBytes + kind + cursor }

        /// Reads the fixed part. Its CRC is not checked yet, so the lengths are checked against their limits.
        init(_ bytes: UnsafeRawBufferPointer) throws(SnapshotFault) {
            guard bytes.count >= SnapshotFormat.fixedBytes, unsafe bytes.word(0, UInt64.self) == SnapshotFormat.magic
            else {
                throw SnapshotFault("the bytes are not the beginning of a snapshot")
            }
            let version = unsafe bytes.word(12, UInt16.self)
            guard version == SnapshotFormat.version else {
                throw .unreadable("it has format \(version), but this build reads format \(SnapshotFormat.version)")
            }
            (kind, cursor) = unsafe (Int(bytes.word(16, UInt32.self)), Int(bytes.word(20, UInt32.self)))
            guard kind <= SnapshotFormat.kindBytesMax, cursor <= EventLogLimits.cursorBytesMax else {
                throw SnapshotFault("a length is out of bounds")
            }
        }
    }

    /// - Parameter bytes: All bytes before the state.
    init(_ bytes: UnsafeRawBufferPointer, _ lengths: Lengths) throws(SnapshotFault) {
        guard bytes.count == lengths.all else { throw SnapshotFault("the file ends inside its header") }
        guard unsafe bytes.word(8, UInt32.self) == CRC32C.checksum(UnsafeRawBufferPointer(rebasing: bytes[12...]))
        else {
            throw SnapshotFault("the CRC does not match the header")
        }
        let kindEnd = SnapshotFormat.fixedBytes + lengths.kind
        guard let kind = unsafe String(validating: bytes[SnapshotFormat.fixedBytes..<kindEnd], as: UTF8.self),
            let cursor = unsafe Cursor(encoded: UnsafeRawBufferPointer(rebasing: bytes[kindEnd...]))
        else { throw SnapshotFault("the stage's kind is not UTF-8, or the cursor is malformed") }
        header = unsafe SnapshotHeader(
            stage: kind, version: Int(bytes.word(24, Int64.self)), log: bytes.identity(32),
            upstream: bytes.identity(48), cursor: cursor, sequence: bytes.word(64, UInt64.self),
            now: Instant(microseconds: bytes.word(72, Int64.self)))
        (stateBytes, stateCRC) = unsafe (bytes.word(80, UInt64.self), bytes.word(88, UInt32.self))
    }
}

/// Why a snapshot cannot be used.
struct SnapshotFault: Error {
    var reason: String
    /// Whether the file is damaged. If not, another build or a later attempt may be able to read it.
    var isDamage: Bool

    init(_ reason: String, isDamage: Bool = true) { (self.reason, self.isDamage) = (reason, isDamage) }

    static func unreadable(_ reason: String) -> SnapshotFault { SnapshotFault(reason, isDamage: false) }
}

extension UnsafeRawBufferPointer {
    fileprivate func identity(_ offset: Int) -> LogIdentity {
        unsafe LogIdentity(high: word(offset, UInt64.self), low: word(offset + 8, UInt64.self))
    }
}
