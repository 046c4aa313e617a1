import Time

/// The 64-bit hash of a key in an index. It is the same on every machine, in every process and build.
///
/// Different keys may have the same hash. So check that each event found by a hash has the key.
package struct KeyHash: Sendable {
    private var state: UInt64

    /// - Parameter kind: Distinguishes keys with the same text, such as a record and a device with the same name.
    package init(kind: UInt8) {
        state = KeyHash.fold(UInt64(kind) ^ 0x8E9D_C3A1_57B2_64F1, 0xD6E8_FEB8_6659_FD93)
    }

    package mutating func absorb(_ word: UInt64) {
        state = KeyHash.fold(state ^ word, 0xA0C1_6B5D_93E7_2F4B)
    }

    /// Absorbs the bytes in words of eight, then their count. Because of the count, different lists of strings give
    /// different inputs.
    package mutating func absorb(_ bytes: UnsafeRawBufferPointer) {
        let wordsEnd = bytes.count & ~7
        for offset in stride(from: 0, to: wordsEnd, by: 8) { unsafe absorb(bytes.word(offset, UInt64.self)) }
        var last: UInt64 = 0
        for offset in wordsEnd..<bytes.count { unsafe last |= UInt64(bytes[offset]) << UInt64(8 * (offset - wordsEnd)) }
        absorb(last)
        absorb(UInt64(bytes.count))
    }

    package mutating func absorb(_ text: String) {
        var text = text
        text.withUTF8 { unsafe absorb(UnsafeRawBufferPointer($0)) }
    }

    package var value: UInt64 { Mixer.scramble(state) }

    /// Multiplies both words and combines the halves of the product, so that each bit of the input affects each bit of
    /// the result.
    private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}
