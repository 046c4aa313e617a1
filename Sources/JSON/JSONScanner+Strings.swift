import CVector

extension JSONScanner {
    @inline(__always)
    func string(_ start: Int, _ node: Int) throws(JSONError) -> Int {
        var position = unsafe plain(start &+ 1)
        var flags: UInt32 = 0
        if unsafe !isByte(UInt8(ascii: "\""), at: position) { flags = try unsafe restOfString(&position) }
        unsafe note(.string, from: start, to: position &+ 1, flags: flags, node)
        return position &+ 1
    }

    /// Reads the rest of a string, from its first escape or non-ASCII byte, and moves `position` to the closing quote.
    ///
    /// - Returns: ``JSONNode/escapedBit`` if there are escapes; otherwise 0.
    @inline(never)
    private func restOfString(_ position: inout Int) throws(JSONError) -> UInt32 {
        var flags: UInt32 = 0
        while true {
            guard unsafe position < count else { throw unsafe missing("the end of a string", position) }
            let byte = unsafe bytes[position]
            switch byte {
            case UInt8(ascii: "\""): return flags
            case UInt8(ascii: "\\"):
                flags = JSONNode.escapedBit
                position = try unsafe escape(position)
            case 0..<0x20: throw JSONError(.controlCharacter(byte), at: position)
            default: position = try unsafe multibytes(position)
            }
            position = unsafe plain(position)
        }
    }

    /// - Returns: The position of the next quote, backslash, control character or non-ASCII byte, or the end of the
    ///   text.
    @inline(__always)
    private func plain(_ start: Int) -> Int {
        var position = start
        while unsafe position &+ 16 <= count {
            let found = unsafe not_plain_of_16(bytes + position)
            if found != 0 { return position &+ found.trailingZeroBitCount }
            position &+= 16
        }
        return unsafe lastPlain(position)
    }

    /// Like ``plain(_:)``, but for the last bytes of a text, at most 15.
    @inline(never)
    private func lastPlain(_ start: Int) -> Int {
        var position = start
        while unsafe position < count {
            let byte = unsafe bytes[position]
            guard byte >= 0x20, byte < 0x80, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") else { break }
            position += 1
        }
        return position
    }
}

// MARK: - Escapes

extension JSONScanner {
    /// - Returns: The position after the escape.
    private func escape(_ position: Int) throws(JSONError) -> Int {
        guard unsafe position + 1 < count else { throw unsafe unexpectedEnd("an escape") }
        switch unsafe bytes[position + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return position + 2
        case UInt8(ascii: "u"): return try unsafe unicodeEscape(position)
        default: throw JSONError(.badEscape, at: position)
        }
    }

    private func unicodeEscape(_ position: Int) throws(JSONError) -> Int {
        switch try unsafe codeUnit(position) {
        case 0xDC00...0xDFFF: throw JSONError(.loneSurrogate, at: position)
        case 0xD800...0xDBFF: try unsafe lowSurrogate(position + 6, after: position)
        default: position + 6
        }
    }

    private func lowSurrogate(_ position: Int, after start: Int) throws(JSONError) -> Int {
        let rest = unsafe count - position
        if rest > 0, unsafe bytes[position] != UInt8(ascii: "\\") { throw JSONError(.loneSurrogate, at: start) }
        if rest > 1, unsafe bytes[position + 1] != UInt8(ascii: "u") { throw JSONError(.loneSurrogate, at: start) }
        guard rest > 1 else { throw unsafe unexpectedEnd("the other half of a surrogate pair") }
        guard unsafe (0xDC00...0xDFFF).contains(try codeUnit(position)) else {
            throw JSONError(.loneSurrogate, at: start)
        }
        return position + 6
    }

    /// Reads the four hex digits of `\uXXXX`. The caller has checked the first two bytes.
    private func codeUnit(_ position: Int) throws(JSONError) -> UInt32 {
        var unit: UInt32 = 0
        for index in position + 2..<position + 6 {
            guard unsafe index < count else { throw unsafe unexpectedEnd("an escape of four hex digits") }
            guard let digit = unsafe JSONText.hexDigit(bytes[index]) else { throw JSONError(.badEscape, at: position) }
            unit = unit << 4 | digit
        }
        return unit
    }

    private func unexpectedEnd(_ expected: StaticString) -> JSONError {
        JSONError(.unexpectedEnd(expected: "\(expected)"), at: unsafe count)
    }
}

// MARK: - UTF-8

extension JSONScanner {
    /// - Returns: The position after all consecutive non-ASCII bytes.
    @inline(__always)
    private func multibytes(_ start: Int) throws(JSONError) -> Int {
        var position = start
        while unsafe position < count, unsafe bytes[position] >= 0x80 {
            let length = unsafe sequenceLength(position)
            guard length > 0 else { throw JSONError(.invalidUTF8, at: position) }
            position += length
        }
        return position
    }

    /// The length of the well-formed sequence at a position (Unicode 15, table 3-7); 0 if the bytes are not
    /// well-formed.
    @inline(__always)
    private func sequenceLength(_ position: Int) -> Int {
        switch unsafe bytes[position] {
        case 0xC2...0xDF: unsafe hasContinuationBytes(1, after: position) ? 2 : 0
        case 0xE0: unsafe hasContinuationBytes(2, after: position) && bytes[position + 1] >= 0xA0 ? 3 : 0
        case 0xED: unsafe hasContinuationBytes(2, after: position) && bytes[position + 1] <= 0x9F ? 3 : 0
        case 0xE1...0xEF: unsafe hasContinuationBytes(2, after: position) ? 3 : 0
        case 0xF0: unsafe hasContinuationBytes(3, after: position) && bytes[position + 1] >= 0x90 ? 4 : 0
        case 0xF1...0xF3: unsafe hasContinuationBytes(3, after: position) ? 4 : 0
        case 0xF4: unsafe hasContinuationBytes(3, after: position) && bytes[position + 1] <= 0x8F ? 4 : 0
        default: 0
        }
    }

    @inline(__always)
    private func hasContinuationBytes(_ more: Int, after position: Int) -> Bool {
        guard unsafe position + more < count else { return false }
        for index in 1...more where unsafe bytes[position + index] & 0xC0 != 0x80 { return false }
        return true
    }
}
