/// 32 bits in the order of what they stand for, from 1: a smaller value never has a greater key.
///
/// Of a double they hold the first 31 bits, and whether more follow. A value without more has a key of its own.
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
        // Of the negative numbers those with the greatest magnitude come first.
        let cell = UInt32(truncatingIfNeeded: (isNegative ? ~pattern : pattern | 1 << 63) >> 33)
        bits = cell << 1 | (isExact == isNegative ? 1 : 0)
    }

    /// A whole number that no double has lies beside the nearest one.
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

    /// How a text starts.
    ///
    /// - Parameter filler: What follows where the text has less than four bytes.
    @inline(__always)
    init(_ text: UnsafeRawBufferPointer, filler: UInt8 = 0) {
        var start: UInt32 = 0
        for index in 0..<4 { start = unsafe start << 8 | UInt32(index < text.count ? text[index] : filler) }
        self.init(bits: start >> 1 + 1, isExact: false)
    }

    /// The number, or one near it, that a key stands for.
    static func number(_ bits: UInt32) -> Double {
        let cell = UInt64(bits >> 1) << 33
        return Double(bitPattern: cell >> 63 == 1 ? cell & ~(1 << 63) : ~cell)
    }

    private init(bits: UInt32, isExact: Bool) { (self.bits, self.isExact) = (bits, isExact) }
}
