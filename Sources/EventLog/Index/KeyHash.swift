import Time

/// A 64-bit hash that is the same on every machine, in every process and build: what an index remembers of a key.
///
/// Different keys may share a hash, so whoever finds an event by one looks at the event too.
package struct KeyHash: Sendable {
    private var state: UInt64

    /// - Parameter kind: Sets apart keys that have the same text, such as a record and a device of one name.
    package init(kind: UInt8) {
        state = KeyHash.fold(UInt64(kind) ^ 0x8E9D_C3A1_57B2_64F1, 0xD6E8_FEB8_6659_FD93)
    }

    package mutating func absorb(_ word: UInt64) {
        state = KeyHash.fold(state ^ word, 0xA0C1_6B5D_93E7_2F4B)
    }

    /// The bytes in words of eight, then their number: no two lists of texts look alike.
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

    /// Both halves of the product: each bit of the input reaches each bit of the result.
    private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}
