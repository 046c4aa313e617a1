/// Validates and compares Base64 text (RFC 4648, section 4).
package enum Base64 {
    /// Compares two base64 strings by the bytes that they encode: negative if `left` sorts first, zero if the strings
    /// are equal, positive if `right` sorts first.
    ///
    /// The comparison does not decode the strings. Each digit is six bits of the bytes, the highest bit first, so the
    /// digits sort like the bytes.
    package static func order(_ left: UnsafeRawBufferPointer, _ right: [UInt8]) -> Int {
        let (leftCount, rightCount) = (digitCount(left), right.withUnsafeBytes { digitCount($0) })
        for index in 0..<min(leftCount, rightCount) {
            let order = Int(digit(left[index]) ?? -1) - Int(digit(right[index]) ?? -1)
            if order != 0 { return order }
        }
        // If the digits are equal, but only one string has padding, the strings are not equal.
        return leftCount != rightCount ? leftCount - rightCount : left.count - right.count
    }

    /// Whether the text is Base64 with its padding. An empty text is valid.
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
