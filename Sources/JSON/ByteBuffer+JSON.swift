extension ByteBuffer {
    /// Appends a JSON string in quotes, with `"`, `\` and control characters escaped (RFC 8259, section 7).
    public mutating func appendJSON(_ text: String) {
        var text = text
        text.withUTF8 { unsafe appendJSON(utf8: UnsafeRawBufferPointer($0)) }
    }

    /// Appends valid UTF-8 as a JSON string.
    package mutating func appendJSON(utf8 text: UnsafeRawBufferPointer) {
        reserve(text.count + 2)
        append(byte: UInt8(ascii: "\""))
        var start = 0
        while start < text.count {
            let next = unsafe ByteBuffer.firstToEscape(text, from: start)
            unsafe append(UnsafeRawBufferPointer(rebasing: text[start..<next]))
            if next < text.count { unsafe appendEscaped(text[next]) }
            start = next + 1
        }
        append(byte: UInt8(ascii: "\""))
    }

    /// Appends `true` or `false`.
    @inlinable
    public mutating func appendJSON(_ flag: Bool) { flag ? append("true") : append("false") }

    /// The index of the first byte from `start` on that must be escaped; the text's length if there is no such byte.
    @inline(__always)
    private static func firstToEscape(_ text: UnsafeRawBufferPointer, from start: Int) -> Int {
        guard let base = text.baseAddress else { return 0 }
        var index = start
        while index + 8 <= text.count {
            if let found = unsafe firstToEscape(inEightAt: base + index) { return index + found }
            index += 8
        }
        while index < text.count, unsafe !mustEscape(text[index]) { index += 1 }
        return index
    }

    /// The index of the first byte to escape among eight bytes; nil if there is no such byte.
    @inline(__always)
    private static func firstToEscape(inEightAt address: UnsafeRawPointer) -> Int? {
        // The first byte is in the lowest bits.
        let word = unsafe UInt64(littleEndian: address.loadUnaligned(as: UInt64.self))
        let (ones, highs): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
        let (quote, backslash) = (word ^ (ones &* 0x22), word ^ (ones &* 0x5C))
        let control = (word &- ones &* 0x20) & ~word
        // Sets the high bit of each byte that must be escaped. Only the lowest bit that is set is reliable, because a
        // subtraction may borrow from the next higher byte.
        let flags = ((quote &- ones) & ~quote | (backslash &- ones) & ~backslash | control) & highs
        return flags == 0 ? nil : flags.trailingZeroBitCount >> 3
    }

    @inline(__always)
    private static func mustEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private mutating func appendEscaped(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): append("\\\"")
        case UInt8(ascii: "\\"): append("\\\\")
        case 0x08: append("\\b")
        case 0x0C: append("\\f")
        case 0x0A: append("\\n")
        case 0x0D: append("\\r")
        case 0x09: append("\\t")
        default:
            append(byte < 0x10 ? "\\u000" : "\\u001")
            append(raw: String(byte & 15, radix: 16))
        }
    }
}
