extension ByteBuffer {
    /// Appends a JSON string: quoted, with `"`, `\` and control characters escaped (RFC 8259, section 7).
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

    /// Index of the first byte from `start` on that must be escaped; the text's length when there is none.
    @inline(__always)
    private static func firstToEscape(_ text: UnsafeRawBufferPointer, from start: Int) -> Int {
        guard let base = text.baseAddress else { return 0 }
        var index = start
        while index + 8 <= text.count {
            if let found = unsafe EightBytes(at: base + index).firstToEscape { return index + found }
            index += 8
        }
        while index < text.count, unsafe !mustEscape(text[index]) { index += 1 }
        return index
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
            append("\\u00")
            append(byte: hexDigit(byte >> 4))
            append(byte: hexDigit(byte & 15))
        }
    }

    private func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
