extension ByteBuffer {
    /// Appends the number as Swift prints it, such as `5.0` or `1e+16`, with the fewest digits that read back as the
    /// same bits.
    ///
    /// Infinity and NaN, which JSON does not have (RFC 8259, section 6), are written as `null`.
    public mutating func appendJSON(_ number: Double) {
        guard number.isFinite else { return append("null") }
        if appendShort(number) { return }
        append(raw: number.description)
    }

    /// Appends the decimal digits, with a minus sign before a negative number.
    public mutating func appendJSON(_ number: Int64) {
        if number < 0 { append(byte: UInt8(ascii: "-")) }
        appendJSON(number.magnitude)
    }

    /// Appends the decimal digits, with a minus sign before a negative number.
    public mutating func appendJSON(_ number: Int) { appendJSON(Int64(number)) }

    /// Appends the decimal digits.
    public mutating func appendJSON(_ number: UInt64) { append(number, digits: ByteBuffer.digitCount(number)) }

    /// Appends a number with at most 11 digits before the point and four after it. Returns false for any other number.
    ///
    /// Different decimals of at most 15 digits are different doubles. So if `scaled / 10_000` is exactly the number,
    /// the digits of `scaled` without trailing zeros are the fewest.
    private mutating func appendShort(_ number: Double) -> Bool {
        let scaled = (number.magnitude * 10_000).rounded()
        guard scaled < 1e15, scaled / 10_000 == number.magnitude else { return false }
        if number.sign == .minus { append(byte: UInt8(ascii: "-")) }
        let (whole, fraction) = UInt64(scaled).quotientAndRemainder(dividingBy: 10_000)
        appendJSON(whole)
        append(byte: UInt8(ascii: "."))
        var (decimals, digits) = (fraction, 4)
        while digits > 1, decimals % 10 == 0 { (decimals, digits) = (decimals / 10, digits - 1) }
        append(decimals, digits: digits)
        return true
    }

    /// Appends exactly `digits` digits, with leading zeros.
    private mutating func append(_ number: UInt64, digits: Int) {
        reserve(digits)
        var remaining = number
        for index in (written..<(written + digits)).reversed() {
            let quotient = remaining / 10
            unsafe base.storeBytes(
                of: UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: remaining &- quotient &* 10), toByteOffset: index,
                as: UInt8.self)
            remaining = quotient
        }
        written += digits
    }

    private static func digitCount(_ number: UInt64) -> Int {
        var (count, bound): (Int, UInt64) = (1, 10)
        while number >= bound, count < 20 { (count, bound) = (count + 1, bound &* 10) }
        return count
    }
}
