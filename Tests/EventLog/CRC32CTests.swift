import EventLog
import TestSupport
import Testing

@Suite struct CRC32CTests {
    @Test(
        arguments: [
            ([], 0), (Array("123456789".utf8), 0xE306_9283), (Array("a".utf8), 0xC1D0_4330),
            // RFC 3720, appendix B.4.
            ([UInt8](repeating: 0, count: 32), 0x8A91_36AA), ([UInt8](repeating: 0xFF, count: 32), 0x62A8_AB43),
            ([UInt8](0..<32), 0x46DD_794E), ([UInt8]((0..<32).reversed()), 0x113F_DB5C),
        ] as [([UInt8], UInt32)])
    func `known inputs have their published checksums`(bytes: [UInt8], crc: UInt32) {
        #expect(bytes.withUnsafeBytes { CRC32C.checksum($0) } == crc)
    }

    @Test func `the checksum agrees with its definition at every alignment, for every length up to 184`() {
        let seed = Seeded.ofThisRun
        var random = Seeded(seed)
        let bytes = (0..<200).map { _ in UInt8.random(in: 0...255, using: &random) }
        for start in 0..<16 {
            for end in start..<bytes.count {
                let crc = bytes.withUnsafeBytes { CRC32C.checksum(UnsafeRawBufferPointer(rebasing: $0[start..<end])) }
                #expect(crc == definition(bytes[start..<end]), "BELFRY_SEED=\(seed)")
            }
        }
    }

    @Test(arguments: [3071, 3072, 3073, 3080, 6144, 9999, 100_000])
    func `the checksum of a long input is the same as when it is computed with tables`(count: Int) {
        let seed = Seeded.ofThisRun
        var random = Seeded(seed)
        let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
        bytes.withUnsafeBytes { #expect(CRC32C.checksum($0) == ~CRC32C.tabled(~0, $0), "BELFRY_SEED=\(seed)") }
    }

    private func definition(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        var crc = ~UInt32(0)
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? (crc >> 1) ^ 0x82F6_3B78 : crc >> 1 }
        }
        return ~crc
    }
}
