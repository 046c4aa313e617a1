/// A 32-bit key for a number or a string. The least key is 1. A smaller value never has a greater key.
///
/// The key of a double consists of the double's first 31 bits, and a bit that says whether any of the double's last 33
/// bits is set. If none of the last 33 bits is set, no other value has the key.
struct OrderedKey {
    let bits: UInt32
    /// Whether no other value has the key.
    let isExact: Bool

    static let min: UInt32 = 1
    static let max = UInt32.max

    /// - Parameter value: Not a NaN.
    @inline(__always)
    init(_ value: Double) {
        let pattern = (value + 0).bitPattern
        let isNegative = pattern >> 63 == 1
        isExact = UInt64(truncatingIfNeeded: pattern) & 0x1_FFFF_FFFF == 0
        // Negative numbers are inverted, so that the greatest magnitude comes first.
        let cell = UInt32(truncatingIfNeeded: (isNegative ? ~pattern : pattern | 1 << 63) >> 33)
        bits = cell << 1 | (isExact == isNegative ? 1 : 0)
    }

    /// The key of an integer: the key of the nearest double. If this key is exact, but the double is not equal to the
    /// integer, the integer gets the key before or after the double's key.
    @inline(__always)
    init(_ value: Int64) {
        let double = Double(value)
        let nearest = OrderedKey(double)
        guard nearest.isExact, double >= 0x1p63 || Int64(double) != value else {
            self = nearest
            return
        }
        let isBelow = double >= 0x1p63 || value < Int64(double)
        self.init(bits: isBelow ? nearest.bits - 1 : nearest.bits + 1, isExact: false)
    }

    /// The key of a string, made from the first 31 bits of the string.
    ///
    /// - Parameter filler: The byte that extends a string of less than four bytes.
    @inline(__always)
    init(_ text: UnsafeRawBufferPointer, filler: UInt8 = 0) {
        var start: UInt32 = 0
        for index in 0..<4 { start = unsafe start << 8 | UInt32(index < text.count ? text[index] : filler) }
        self.init(bits: start >> 1 + 1, isExact: false)
    }

    /// A number near all numbers that have the key.
    static func number(_ bits: UInt32) -> Double {
        let cell = UInt64(bits >> 1) << 33
        return Double(bitPattern: cell >> 63 == 1 ? cell & ~(1 << 63) : ~cell)
    }

    private init(bits: UInt32, isExact: Bool) { (self.bits, self.isExact) = (bits, isExact) }
}
