import TestSupport
import Testing

@testable import JSON

@Suite struct ByteHashTests {
    private func hash(_ bytes: [UInt8], salt: UInt64 = 0) -> Int {
        bytes.withUnsafeBytes { ByteHash.of($0, salt: salt) }
    }

    @Test func `equal bytes have the same hash at any address`() {
        let bytes = (0..<100).map { UInt8($0) }
        for count in 0...64 {
            let hashes = (0..<8).map { start in
                (bytes[..<start] + bytes[..<count]).withUnsafeBytes {
                    ByteHash.of(UnsafeRawBufferPointer(rebasing: $0[start...]))
                }
            }
            #expect(Set(hashes).count == 1)
        }
    }

    @Test func `every byte, the length and the salt change the hash`() {
        var hashes: Set<Int> = []
        var tried = 0
        for count in 0...48 {
            let base = [UInt8](repeating: 0, count: count)
            for salt in 0..<4 as Range<UInt64> {
                hashes.insert(hash(base, salt: salt))
                tried += 1
            }
            for position in 0..<count {
                for bit in 0..<8 {
                    var bytes = base
                    bytes[position] = 1 << UInt8(bit)
                    hashes.insert(hash(bytes))
                    tried += 1
                }
            }
        }
        #expect(hashes.count == tried)
    }

    @Test func `the low bits of hashes are evenly spread`() {
        var buckets = [Int](repeating: 0, count: 256)
        for number in 0..<25_600 { buckets[hash(Array("r\(number)".utf8)) & 255] += 1 }
        #expect(buckets.allSatisfy { (40...180).contains($0) })
        var numberBuckets = [Int](repeating: 0, count: 256)
        for number in 0..<25_600 { numberBuckets[ByteHash.of(UInt64(number)) & 255] += 1 }
        #expect(numberBuckets.allSatisfy { (40...180).contains($0) })
    }
}
