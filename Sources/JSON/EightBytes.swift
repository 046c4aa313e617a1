/// Eight bytes of text looked at in one step; the first of them in the lowest bits.
struct EightBytes {
    private let word: UInt64
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highs: UInt64 = 0x8080_8080_8080_8080

    @inline(__always)
    init(at address: UnsafeRawPointer) { word = unsafe UInt64(littleEndian: address.loadUnaligned(as: UInt64.self)) }

    /// Index of the first quote, backslash or control character; nil when there is none.
    @inline(__always)
    var firstToEscape: Int? { EightBytes.first(toEscape) }

    /// The high bit of each byte to escape; bits above the lowest that is set may be wrong, as a borrow runs upwards.
    @inline(__always)
    private var toEscape: UInt64 {
        let quote = word ^ (EightBytes.ones &* 0x22)
        let slash = word ^ (EightBytes.ones &* 0x5C)
        let control = (word &- EightBytes.ones &* 0x20) & ~word
        return (quote &- EightBytes.ones) & ~quote | (slash &- EightBytes.ones) & ~slash | control
    }

    @inline(__always)
    private static func first(_ flags: UInt64) -> Int? {
        let found = flags & EightBytes.highs
        return found == 0 ? nil : found.trailingZeroBitCount >> 3
    }
}
