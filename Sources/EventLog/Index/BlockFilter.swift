import Time

/// Says of a key that a block surely lacks it, or that it may hold it: a Bloom filter in lines of 64 bytes.
///
/// A key's bits are all in one line, so that a question reads 64 bytes of the file, and each line has a CRC of its own,
/// so that a damaged line says "maybe" and never "no". With 16 bits a key about one block in a thousand says "maybe"
/// of a key that it lacks.
///
///     offset  bytes
///          0      4  CRC-32C of the rest, xor the salt of the block and the line
///          4     60  480 bits
enum BlockFilter {
    static let lineBytes = 64
    private static let bitsOfLine: UInt64 = 480
    private static let bitsOfKey = 16
    private static let probes = 7

    static func lineCount(keys: Int) -> Int { max(1, (keys * bitsOfKey + 479) / 480) }

    /// The most lines that a block can have: far more than one with 64 MiB of keys needs.
    static let linesMax = 1 << 22

    /// No key is 0, which ``KeySet`` needs for itself.
    static func normalized(_ key: UInt64) -> UInt64 { key == 0 ? 1 : key }

    static func line(of key: UInt64, among lines: Int) -> Int {
        Int(normalized(key).multipliedFullWidth(by: UInt64(lines)).high)
    }

    /// A filter for these keys, which are normalized.
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

    /// - Parameter bytes: The line's 64 bytes; fewer where the file ends.
    static func answer(_ key: UInt64, _ bytes: UnsafeRawBufferPointer, line: Int, salt: UInt64) -> Answer {
        guard bytes.count == lineBytes,
            unsafe bytes.word(0, UInt32.self) == crc(ofLine: bytes, at: 0) ^ lineSalt(salt, line)
        else { return .damaged }
        var probe = Probe(key)
        for _ in 0..<probes {
            let bit = probe.next()
            if unsafe bytes[4 + bit >> 3] & 1 << UInt8(bit & 7) == 0 { return .no }
        }
        return .maybe
    }

    private static func set(_ key: UInt64, in bytes: UnsafeMutableRawBufferPointer, _ line: Int) {
        var probe = Probe(key)
        for _ in 0..<probes {
            let bit = probe.next()
            unsafe bytes[line * lineBytes + 4 + bit >> 3] |= 1 << UInt8(bit & 7)
        }
    }

    private static func crc(ofLine bytes: UnsafeRawBufferPointer, at offset: Int) -> UInt32 {
        unsafe CRC32C.checksum(UnsafeRawBufferPointer(rebasing: bytes[(offset + 4)..<(offset + lineBytes)]))
    }

    /// A line in another block's place, or of another log, must not be right.
    private static func lineSalt(_ salt: UInt64, _ line: Int) -> UInt32 {
        UInt32(truncatingIfNeeded: Mixer.scramble(salt &+ UInt64(line)))
    }

    /// Seven bits of a line, nine bits of a scrambled key each.
    private struct Probe {
        private var bits: UInt64

        init(_ key: UInt64) { bits = Mixer.scramble(BlockFilter.normalized(key)) }

        @inline(__always)
        mutating func next() -> Int {
            defer { bits >>= 9 }
            return Int(((bits & 511) * BlockFilter.bitsOfLine) >> 9)
        }
    }
}
