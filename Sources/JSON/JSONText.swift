/// Decodes JSON strings that the scanner has checked.
@usableFromInline
enum JSONText {
    @inline(__always)
    static func hexDigit(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A") + 10)
        default: nil
        }
    }

    /// Writes the decoded bytes of a string to `target`, which must have room for `text.count` bytes.
    ///
    /// - Returns: The number of bytes written.
    @usableFromInline
    static func unescape(_ text: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer) -> Int {
        var (read, written) = (0, 0)
        while read < text.count {
            let byte = unsafe text[read]
            if byte != UInt8(ascii: "\\") {
                unsafe target[written] = byte
                read += 1
                written += 1
            } else if unsafe text[read + 1] == UInt8(ascii: "u") {
                for byte in unsafe scalar(text, &read).utf8 {
                    unsafe target[written] = byte
                    written += 1
                }
            } else {
                unsafe target[written] = decoded(escape: text[read + 1])
                read += 2
                written += 1
            }
        }
        return written
    }

    private static func decoded(escape: UInt8) -> UInt8 {
        switch escape {
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: escape
        }
    }

    /// Reads one `\uXXXX`, or two of them if they form a surrogate pair.
    private static func scalar(_ text: UnsafeRawBufferPointer, _ read: inout Int) -> Unicode.Scalar {
        var value = unsafe codeUnit(text, at: read)
        read += 6
        if (0xD800...0xDBFF).contains(value) {
            value = unsafe 0x10000 + ((value - 0xD800) << 10) + (codeUnit(text, at: read) - 0xDC00)
            read += 6
        }
        guard let scalar = Unicode.Scalar(value) else { preconditionFailure("the scanner accepted a lone surrogate") }
        return scalar
    }

    private static func codeUnit(_ text: UnsafeRawBufferPointer, at index: Int) -> UInt32 {
        var unit: UInt32 = 0
        // The formatter would remove the space in `for unsafe`.
        // swift-format-ignore
        for unsafe byte in unsafe text[(index + 2)..<(index + 6)] {
            guard let digit = hexDigit(byte) else { preconditionFailure("the scanner accepted a bad escape") }
            unit = unit << 4 | digit
        }
        return unit
    }
}
