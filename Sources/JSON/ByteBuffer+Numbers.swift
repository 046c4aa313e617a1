extension ByteBuffer {
    /// Appends a number in its shortest decimal form that reads back as the same bits.
    ///
    /// JSON has no infinity and no NaN (RFC 8259, section 6): those are written as `null`.
    public mutating func appendJSON(_ number: Double) {
        guard number.isFinite else { return append("null") }
        if appendShort(number) { return }
        append(raw: number.description)
    }

    /// Appends the decimal digits, with a minus sign where it is negative.
    public mutating func appendJSON(_ number: Int64) {
        if number < 0 { append(byte: UInt8(ascii: "-")) }
        appendJSON(number.magnitude)
    }

    /// Appends the decimal digits, with a minus sign where it is negative.
    public mutating func appendJSON(_ number: Int) { appendJSON(Int64(number)) }

    /// Appends the decimal digits.
    public mutating func appendJSON(_ number: UInt64) { append(number, digits: ByteBuffer.digitCount(number)) }

    /// Writes a number of at most four decimals and 11 digits before them; false, with nothing written, for any other.
    ///
    /// No two decimals of at most 15 digits are the same double, so the one that divides back to the number is, without
    /// the zeros at its end, the shortest that there is.
    private mutating func appendShort(_ number: Double) -> Bool {
        let scaled = (number.magnitude * 10_000).rounded()
        guard scaled < 1e15, scaled / 10_000 == number.magnitude else { return false }
        if number.sign == .minus { append(byte: UInt8(ascii: "-")) }
        let (whole, fraction) = UInt64(scaled).quotientAndRemainder(dividingBy: 10_000)
        appendJSON(whole)
        append(byte: UInt8(ascii: "."))
        appendDecimals(fraction)
        return true
    }

    /// Appends ten-thousandths without the zeros at their end, but one digit at least.
    private mutating func appendDecimals(_ fraction: UInt64) {
        var (fraction, digits) = (fraction, 4)
        while digits > 1, fraction % 10 == 0 { (fraction, digits) = (fraction / 10, digits - 1) }
        append(fraction, digits: digits)
    }

    /// Appends exactly that many digits, with zeros in front.
    private mutating func append(_ number: UInt64, digits: Int) {
        reserve(digits)
        var rest = number
        for index in (written..<(written + digits)).reversed() {
            let quotient = rest / 10
            unsafe base.storeBytes(
                of: UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest &- quotient &* 10), toByteOffset: index,
                as: UInt8.self)
            rest = quotient
        }
        written += digits
    }

    private static func digitCount(_ number: UInt64) -> Int {
        var count = 1
        var bound: UInt64 = 10
        while number >= bound, count < 20 {
            count += 1
            bound = bound &* 10
        }
        return count
    }
}
