import Time

/// A Bloom filter in lines of 64 bytes: answers whether a block may have a key.
///
/// A key sets seven bits, all in one line, so a query reads only 64 bytes of the file. Each line has its own CRC, so
/// that a damaged line never answers "no". With 16 bits of space for each key, one block in a thousand answers "maybe"
/// for a key that it does not have.
///
///     offset  bytes
///          0      4  CRC-32C of the other 60 bytes, XOR the line's salt (see `lineSalt`)
///          4     60  480 bits
enum BlockFilter {
    static let lineBytes = 64
    private static let bitsPerLine: UInt64 = 480
    private static let bitsPerKey = 16
    private static let probesPerKey = 7

    static func lineCount(keys: Int) -> Int { max(1, (keys * bitsPerKey + 479) / 480) }

    /// The maximum number of lines in a block's filter: far more than the keys of the largest batch (64 MiB) need.
    static let linesMax = 1 << 22

    /// Replaces the key 0 by 1, because 0 means an empty slot in ``KeySet``.
    static func normalized(_ key: UInt64) -> UInt64 { key == 0 ? 1 : key }

    static func line(of key: UInt64, among lines: Int) -> Int {
        Int(normalized(key).multipliedFullWidth(by: UInt64(lines)).high)
    }

    /// - Parameter keys: Normalized keys.
    static func bytes(for keys: [UInt64], salt: UInt64) -> [UInt8] {
        let lines = lineCount(keys: keys.count)
        var bytes = [UInt8](repeating: 0, count: lines * lineBytes)
        unsafe bytes.withUnsafeMutableBytes { bytes in
            for key in keys { unsafe set(key, in: bytes, line(of: key, among: lines)) }
            for line in 0..<lines {
                let crc = unsafe crc(ofLine: UnsafeRawBufferPointer(bytes), at: line * lineBytes) ^ lineSalt(salt, line)
                unsafe bytes.storeBytes(of: crc.littleEndian, toByteOffset: line * lineBytes, as: UInt32.self)
            }
        }
        return bytes
    }

    enum Answer { case no, maybe, damaged }

    /// - Parameter bytes: The line's 64 bytes. Fewer bytes, from a truncated file, count as damaged.
    static func query(_ key: UInt64, in bytes: UnsafeRawBufferPointer, line: Int, salt: UInt64) -> Answer {
        guard bytes.count == lineBytes,
            unsafe bytes.word(0, UInt32.self) == crc(ofLine: bytes, at: 0) ^ lineSalt(salt, line)
        else { return .damaged }
        var probe = Probe(key)
        for _ in 0..<probesPerKey {
            let bit = probe.next()
            if unsafe bytes[4 + bit >> 3] & 1 << UInt8(bit & 7) == 0 { return .no }
        }
        return .maybe
    }

    private static func set(_ key: UInt64, in bytes: UnsafeMutableRawBufferPointer, _ line: Int) {
        var probe = Probe(key)
        for _ in 0..<probesPerKey {
            let bit = probe.next()
            unsafe bytes[line * lineBytes + 4 + bit >> 3] |= 1 << UInt8(bit & 7)
        }
    }

    private static func crc(ofLine bytes: UnsafeRawBufferPointer, at offset: Int) -> UInt32 {
        unsafe CRC32C.checksum(UnsafeRawBufferPointer(rebasing: bytes[(offset + 4)..<(offset + lineBytes)]))
    }

    /// A value that is mixed into a line's CRC, so that the CRC is wrong for a line of another block or another log.
    private static func lineSalt(_ salt: UInt64, _ line: Int) -> UInt32 {
        UInt32(truncatingIfNeeded: Mixer.scramble(salt &+ UInt64(line)))
    }

    /// Chooses the bits that a key sets. Nine bits of the scrambled key select one bit.
    private struct Probe {
        private var bits: UInt64

        init(_ key: UInt64) { bits = Mixer.scramble(BlockFilter.normalized(key)) }

        @inline(__always)
        mutating func next() -> Int {
            defer { bits >>= 9 }
            return Int(((bits & 511) * BlockFilter.bitsPerLine) >> 9)
        }
    }
}
