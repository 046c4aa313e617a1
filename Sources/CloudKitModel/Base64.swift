/// Bytes as the text that stands for them (RFC 4648, section 4).
package enum Base64 {
    /// Negative, zero or positive as one text's bytes come before, with or after the other's.
    ///
    /// Each digit is six bits, the first the highest: digits in order are bytes in order. Nothing is decoded.
    package static func order(_ left: UnsafeRawBufferPointer, _ right: [UInt8]) -> Int {
        let (leftCount, rightCount) = (digitCount(left), right.withUnsafeBytes { digitCount($0) })
        for index in 0..<min(leftCount, rightCount) {
            let order = Int(digit(left[index]) ?? -1) - Int(digit(right[index]) ?? -1)
            if order != 0 { return order }
        }
        // Text without its padding is equal to none, as texts would have it.
        return leftCount != rightCount ? leftCount - rightCount : left.count - right.count
    }

    /// Whether the text has its padding. An empty text stands for no bytes.
    package static func isValid(_ text: UnsafeRawBufferPointer) -> Bool {
        guard text.count % 4 == 0 else { return false }
        let digits = digitCount(text)
        return text.count - digits <= 2 && text[..<digits].allSatisfy(isDigit)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 10
            || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "/")
    }

    private static func digitCount(_ text: UnsafeRawBufferPointer) -> Int {
        var count = text.count
        while count > 0, text[count - 1] == UInt8(ascii: "=") { count -= 1 }
        return count
    }

    private static func digit(_ byte: UInt8) -> Int8? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): Int8(byte - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): Int8(byte - UInt8(ascii: "a") + 26)
        case UInt8(ascii: "0")...UInt8(ascii: "9"): Int8(byte - UInt8(ascii: "0") + 52)
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
