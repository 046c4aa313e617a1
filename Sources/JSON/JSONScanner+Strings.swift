extension JSONScanner {
    @inline(__always)
    mutating func string() throws(JSONError) {
        let start = position
        position += 1
        skipPlain()
        var flags: UInt32 = 0
        if !stands(UInt8(ascii: "\"")) { flags = try restOfString() }
        position += 1
        note(.string, from: start, flags: flags)
    }

    /// Reads a string with escapes or other bytes than ASCII up to its closing quote.
    ///
    /// - Returns: ``JSONNode/escapedBit`` when there are escapes.
    private mutating func restOfString() throws(JSONError) -> UInt32 {
        var flags: UInt32 = 0
        while true {
            guard position < count else { throw missing("the end of a string") }
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "\""): return flags
            case UInt8(ascii: "\\"):
                flags = JSONNode.escapedBit
                try escape()
            case 0..<0x20: throw JSONError(.controlCharacter(byte), at: position)
            default: try multibytes()
            }
            skipPlain()
        }
    }

    /// Moves to the next byte that is a quote, a backslash, a control character or not ASCII.
    @inline(__always)
    private mutating func skipPlain() {
        while position + 8 <= count {
            if let found = EightBytes(at: bytes + position).firstNotPlain {
                position += found
                return
            }
            position += 8
        }
        while position < count {
            let byte = bytes[position]
            guard byte >= 0x20, byte < 0x80, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") else { return }
            position += 1
        }
    }
}

// MARK: - Escapes

extension JSONScanner {
    private mutating func escape() throws(JSONError) {
        guard position + 1 < count else { throw cut("an escape") }
        switch bytes[position + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 2
        case UInt8(ascii: "u"): try unicodeEscape()
        default: throw JSONError(.badEscape, at: position)
        }
    }

    private mutating func unicodeEscape() throws(JSONError) {
        let start = position
        switch try codeUnit() {
        case 0xDC00...0xDFFF: throw JSONError(.loneSurrogate, at: start)
        case 0xD800...0xDBFF: try lowSurrogate(after: start)
        default: break
        }
    }

    private mutating func lowSurrogate(after start: Int) throws(JSONError) {
        let rest = count - position
        if rest > 0, bytes[position] != UInt8(ascii: "\\") { throw JSONError(.loneSurrogate, at: start) }
        if rest > 1, bytes[position + 1] != UInt8(ascii: "u") { throw JSONError(.loneSurrogate, at: start) }
        guard rest > 1 else { throw cut("the other half of a surrogate pair") }
        guard (0xDC00...0xDFFF).contains(try codeUnit()) else { throw JSONError(.loneSurrogate, at: start) }
    }

    /// Reads `\uXXXX`, of which the first two bytes are known to be there.
    private mutating func codeUnit() throws(JSONError) -> UInt32 {
        var unit: UInt32 = 0
        for index in position + 2..<position + 6 {
            guard index < count else { throw cut("an escape of four hex digits") }
            guard let digit = JSONText.hexDigit(bytes[index]) else { throw JSONError(.badEscape, at: position) }
            unit = unit << 4 | digit
        }
        position += 6
        return unit
    }

    private func cut(_ expected: StaticString) -> JSONError {
        JSONError(.unexpectedEnd(expected: "\(expected)"), at: count)
    }
}

// MARK: - UTF-8

extension JSONScanner {
    /// Moves over all the bytes from here on that are not ASCII.
    @inline(__always)
    private mutating func multibytes() throws(JSONError) {
        while position < count, bytes[position] >= 0x80 {
            let length = sequenceLength(bytes[position])
            guard length > 0 else { throw JSONError(.invalidUTF8, at: position) }
            position += length
        }
    }

    /// Length of the well-formed sequence that starts here (Unicode 15, table 3-7); 0 when there is none.
    @inline(__always)
    private func sequenceLength(_ first: UInt8) -> Int {
        switch first {
        case 0xC2...0xDF: continues(1) ? 2 : 0
        case 0xE0: continues(2) && bytes[position + 1] >= 0xA0 ? 3 : 0
        case 0xED: continues(2) && bytes[position + 1] <= 0x9F ? 3 : 0
        case 0xE1...0xEF: continues(2) ? 3 : 0
        case 0xF0: continues(3) && bytes[position + 1] >= 0x90 ? 4 : 0
        case 0xF1...0xF3: continues(3) ? 4 : 0
        case 0xF4: continues(3) && bytes[position + 1] <= 0x8F ? 4 : 0
        default: 0
        }
    }

    /// Whether that many continuation bytes follow.
    @inline(__always)
    private func continues(_ more: Int) -> Bool {
        guard position + more < count else { return false }
        for index in 1...more where bytes[position + index] & 0xC0 != 0x80 { return false }
        return true
    }
}
