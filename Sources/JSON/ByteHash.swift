/// A fast hash for tables in one process. Each process has its own secrets, so nobody can prepare strings with equal
/// hashes.
///
/// The bytes are hashed in pieces of 16; the last piece may be shorter. Each piece needs one multiplication: the hash
/// xors one half of the piece with a secret and the other half with the sum so far, and multiplies them. The folded
/// product is the new sum. The length needs one more multiplication.
package enum ByteHash {
    private static let secrets: (UInt64, UInt64, UInt64) = (secret(1), secret(2), secret(3))

    /// A number that differs between processes, because Swift's own hasher has a random seed in each process.
    private static func secret(_ number: Int) -> UInt64 { UInt64(bitPattern: Int64(number.hashValue)) | 1 }

    /// - Parameter salt: Distinguishes equal bytes with different meanings.
    @inline(__always)
    package static func of(_ bytes: UnsafeRawBufferPointer, salt: UInt64 = 0) -> Int {
        let (first, second, third) = secrets
        var sum = first ^ salt &* 0x9E37_79B9_7F4A_7C15
        var start = 0
        while bytes.count - start > 16 {
            sum = unsafe fold(word(bytes, start) ^ second, word(bytes, start + 8) ^ sum)
            start += 16
        }
        let (left, right) = unsafe tail(bytes, start)
        return Int(
            truncatingIfNeeded: fold(fold(left ^ second, right ^ sum), UInt64(truncatingIfNeeded: bytes.count) ^ third))
    }

    @inline(__always)
    package static func of(_ number: UInt64, salt: UInt64 = 0) -> Int {
        let (first, second, third) = secrets
        return Int(truncatingIfNeeded: fold(fold(number ^ second, salt ^ first), third))
    }

    /// The bytes from `start` on as two words, which may overlap. There are at most 16 such bytes.
    @inline(__always)
    private static func tail(_ bytes: UnsafeRawBufferPointer, _ start: Int) -> (UInt64, UInt64) {
        let count = bytes.count - start
        if count >= 8 { return unsafe (word(bytes, start), word(bytes, bytes.count - 8)) }
        if count >= 4 { return unsafe (half(bytes, start), half(bytes, bytes.count - 4)) }
        guard count > 0 else { return (0, 0) }
        let middle = unsafe UInt64(bytes[start + count / 2]) << 8
        return unsafe (UInt64(bytes[start]) | middle | UInt64(bytes[bytes.count - 1]) << 16, 0)
    }

    @inline(__always)
    private static func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
        unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    }

    @inline(__always)
    private static func half(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
        unsafe UInt64(bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    @inline(__always)
    private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}
