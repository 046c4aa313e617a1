import CCRC32C

/// CRC-32C (Castagnoli; RFC 3720, appendix B.4). Uses the processor's instruction if it has one, else tables.
package enum CRC32C {
    /// - Parameter earlier: The checksum of the bytes before `bytes`; 0 at the beginning.
    package static func checksum(_ bytes: UnsafeRawBufferPointer, after earlier: UInt32 = 0) -> UInt32 {
        unsafe hasInstruction ? ~instructed(~earlier, bytes) : ~tabled(~earlier, bytes)
    }

    static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt32 { unsafe bytes.withUnsafeBytes { unsafe checksum($0) } }

    private static let hasInstruction = crc32c_is_supported()

    /// Returns the CRC register after these bytes, computed with tables.
    package static func tabled(_ register: UInt32, _ bytes: UnsafeRawBufferPointer) -> UInt32 {
        guard let start = bytes.baseAddress else { return register }
        return unsafe tables.withUnsafeBufferPointer { tables in
            guard let tables = tables.baseAddress else { return register }
            let blocksEnd = bytes.count & ~15
            var crc = register
            for offset in stride(from: 0, to: blocksEnd, by: 16) { crc = unsafe block(crc, start + offset, tables) }
            for offset in blocksEnd..<bytes.count {
                let byte = unsafe start.load(fromByteOffset: offset, as: UInt8.self)
                crc = unsafe crc >> 8 ^ tables[Int(UInt8(truncatingIfNeeded: crc) ^ byte)]
            }
            return crc
        }
    }

    @inline(__always)
    private static func block(_ crc: UInt32, _ bytes: UnsafeRawPointer, _ tables: UnsafePointer<UInt32>) -> UInt32 {
        let left = unsafe UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self)) ^ UInt64(crc)
        let right = unsafe UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        return unsafe word(left, tables + 8 * 256) ^ word(right, tables)
    }

    /// The contribution of eight bytes to the register. The first table is for the last of these bytes.
    @inline(__always)
    private static func word(_ word: UInt64, _ tables: UnsafePointer<UInt32>) -> UInt32 {
        let first = unsafe tables[7 * 256 + byte(word, 0)] ^ tables[6 * 256 + byte(word, 1)]
        let second = unsafe tables[5 * 256 + byte(word, 2)] ^ tables[4 * 256 + byte(word, 3)]
        let third = unsafe tables[3 * 256 + byte(word, 4)] ^ tables[2 * 256 + byte(word, 5)]
        let fourth = unsafe tables[256 + byte(word, 6)] ^ tables[byte(word, 7)]
        return (first ^ second) ^ (third ^ fourth)
    }

    @inline(__always)
    private static func byte(_ word: UInt64, _ index: UInt64) -> Int {
        Int(truncatingIfNeeded: word &>> (index &* 8) & 0xFF)
    }

    /// Table k holds the remainder of a byte followed by k zero bytes.
    private static let tables: [UInt32] = {
        var tables = [UInt32](repeating: 0, count: 16 * 256)
        for byte in 0..<256 {
            tables[byte] = (0..<8).reduce(UInt32(byte)) { crc, _ in crc & 1 == 1 ? crc >> 1 ^ 0x82F6_3B78 : crc >> 1 }
        }
        for index in 256..<tables.count {
            let previous = tables[index - 256]
            tables[index] = previous >> 8 ^ tables[Int(previous & 0xFF)]
        }
        return tables
    }()
}

extension CRC32C {
    private static func instructed(_ register: UInt32, _ bytes: UnsafeRawBufferPointer) -> UInt32 {
        guard let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return register }
        var (crc, offset) = (register, 0)
        unsafe long.sum(&crc, start, &offset, of: bytes.count)
        unsafe short.sum(&crc, start, &offset, of: bytes.count)
        let words = (bytes.count - offset) / 8
        crc = unsafe crc32c_words(crc, start + offset, words)
        offset += 8 * words
        return unsafe crc32c_bytes(crc, start + offset, bytes.count - offset)
    }

    private static let long = ThreeRuns(runBytes: 1024)
    /// Short runs, for single events, which usually have a few hundred bytes.
    private static let short = ThreeRuns(runBytes: 128)
}

/// Computes the CRCs of three consecutive runs in parallel, and combines them.
private struct ThreeRuns {
    private let runBytes: Int
    /// For each byte of the register and each value of this byte: what a register with only this byte set becomes after
    /// a run of zeros.
    private let tables: [UInt32]

    init(runBytes: Int) {
        self.runBytes = runBytes
        let zeros = [UInt8](repeating: 0, count: runBytes)
        tables = (0..<4).flatMap { byte in
            (0..<256).map { value in
                unsafe zeros.withUnsafeBytes { unsafe CRC32C.tabled(UInt32(value) << UInt32(8 * byte), $0) }
            }
        }
    }

    @inline(__always)
    func sum(_ crc: inout UInt32, _ start: UnsafePointer<UInt8>, _ offset: inout Int, of count: Int) {
        guard offset + 3 * runBytes <= count else { return }
        unsafe tables.withUnsafeBufferPointer { tables in
            while offset + 3 * runBytes <= count {
                crc = unsafe threeRuns(crc, start + offset, tables)
                offset += 3 * runBytes
            }
        }
    }

    private func threeRuns(
        _ register: UInt32, _ start: UnsafePointer<UInt8>, _ tables: UnsafeBufferPointer<UInt32>
    ) -> UInt32 {
        unsafe withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 3) { sums in
            unsafe (sums[0], sums[1], sums[2]) = (register, 0, 0)
            guard let base = sums.baseAddress else { return register }
            unsafe crc32c_three_runs(base, start, runBytes / 8)
            return unsafe afterZeros(afterZeros(sums[0], tables) ^ sums[1], tables) ^ sums[2]
        }
    }

    /// The register after a run of zeros. Xor it with the next run's register to append that run.
    @inline(__always)
    private func afterZeros(_ register: UInt32, _ tables: UnsafeBufferPointer<UInt32>) -> UInt32 {
        unsafe tables[Int(register & 0xFF)] ^ tables[256 + Int(register >> 8 & 0xFF)]
            ^ tables[512 + Int(register >> 16 & 0xFF)] ^ tables[768 + Int(register >> 24)]
    }
}
