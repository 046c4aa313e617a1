/// Converts JSON numbers that the scanner has checked.
enum JSONNumber {
    /// Nil if the whole number does not fit 64 signed bits.
    static func int64(_ text: UnsafeRawBufferPointer) -> Int64? {
        let isNegative = unsafe text[0] == UInt8(ascii: "-")
        let digits = unsafe UnsafeRawBufferPointer(rebasing: text[(isNegative ? 1 : 0)...])
        // 19 digits fit 64 unsigned bits. 20 digits without a leading zero never fit 63 bits.
        guard digits.count <= 19 else { return nil }
        var magnitude: UInt64 = 0
        // The formatter would remove the space in `for unsafe`.
        // swift-format-ignore
        for unsafe digit in unsafe digits { magnitude = magnitude &* 10 &+ UInt64(digit &- UInt8(ascii: "0")) }
        if isNegative { return magnitude <= 1 << 63 ? Int64(truncatingIfNeeded: 0 &- magnitude) : nil }
        return Int64(exactly: magnitude)
    }

    /// The nearest double; nil if the number is too large for a finite double.
    static func double(_ text: UnsafeRawBufferPointer) -> Double? {
        if let exact = unsafe short(text) { return exact }
        guard let number = unsafe Double(String(decoding: text, as: UTF8.self)), number.isFinite else { return nil }
        return number
    }

    private static let powersOfTen: [Double] = [
        1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
    ]

    /// Converts at most 15 digits without an exponent. Digits and power of ten are exact doubles, so their quotient is
    /// the nearest double (Clinger, "How to read floating point numbers accurately", 1990).
    private static func short(_ text: UnsafeRawBufferPointer) -> Double? {
        guard text.count <= 17 else { return nil }
        let isNegative = unsafe text[0] == UInt8(ascii: "-")
        var digits: UInt64 = 0
        var point = text.count
        for index in (isNegative ? 1 : 0)..<text.count {
            let digit = unsafe text[index] &- UInt8(ascii: "0")
            if digit < 10 {
                digits = digits &* 10 &+ UInt64(digit)
            } else {
                guard unsafe text[index] == UInt8(ascii: ".") else { return nil }
                point = index
            }
        }
        let fractionDigits = max(text.count - point - 1, 0)
        guard digits < 1_000_000_000_000_000, fractionDigits <= 15 else { return nil }
        let magnitude = Double(digits) / powersOfTen[fractionDigits]
        return isNegative ? -magnitude : magnitude
    }
}
