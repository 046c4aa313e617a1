/// Splits a predicate's text into tokens in one pass.
struct Lexer {
    private let text: [UInt8]
    private(set) var position = 0

    init(_ text: String) { self.text = Array(text.utf8) }

    mutating func next() throws(PredicateError) -> Token {
        while position < text.count, Lexer.isSpace(text[position]) { position += 1 }
        let start = position
        guard start < text.count else { return Token(kind: .end, offset: start) }
        return Token(kind: try kind(text[start]), offset: start)
    }

    private mutating func kind(_ first: UInt8) throws(PredicateError) -> Token.Kind {
        switch first {
        case UInt8(ascii: "'"), UInt8(ascii: "\""): return .string(try string(quote: first))
        case UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
        case UInt8(ascii: "-") where Lexer.isDigit(byte(at: position + 1)): return try number()
        case UInt8(ascii: "#"): return try quotedWord()
        case UInt8(ascii: "%"): return try placeholder()
        default: return Lexer.startsWord(first) ? .word(word(), isQuoted: false) : try sign()
        }
    }

    private func error(_ reason: String, at offset: Int? = nil) -> PredicateError {
        PredicateError(code: "predicate.syntax", offset: offset ?? position, reason: reason)
    }

    private func byte(at index: Int) -> UInt8? { index < text.count ? text[index] : nil }
}

// MARK: - Words and signs

extension Lexer {
    private mutating func word() -> String {
        let start = position
        while let byte = byte(at: position), Lexer.startsWord(byte) || Lexer.isDigit(byte) { position += 1 }
        return String(decoding: text[start..<position], as: UTF8.self)
    }

    private mutating func quotedWord() throws(PredicateError) -> Token.Kind {
        position += 1
        guard let first = byte(at: position), Lexer.startsWord(first) else {
            throw error("write a field's name after '#'")
        }
        return .word(word(), isQuoted: true)
    }

    private mutating func placeholder() throws(PredicateError) -> Token.Kind {
        guard let letter = byte(at: position + 1), letter == UInt8(ascii: "@") || letter == UInt8(ascii: "K") else {
            throw error("the only placeholders are %@ for a value and %K for a field")
        }
        position += 2
        return .argument(isName: letter == UInt8(ascii: "K"))
    }

    private mutating func sign() throws(PredicateError) -> Token.Kind {
        let pair = String(decoding: text[position..<min(position + 2, text.count)], as: UTF8.self)
        if ["==", "!=", "<>", "<=", "=<", ">=", "=>", "&&", "||"].contains(pair) {
            position += 2
            return .sign(pair)
        }
        let single = String(UnicodeScalar(text[position]))
        guard "=<>!(){},.:[]".contains(single) else { throw error("'\(single)' is not an operator") }
        position += 1
        return .sign(single)
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }

    static func isDigit(_ byte: UInt8?) -> Bool { byte.map { $0 &- UInt8(ascii: "0") < 10 } ?? false }

    static func startsWord(_ byte: UInt8) -> Bool {
        byte >= 0x80 || byte == UInt8(ascii: "_") || (byte | 0x20) &- UInt8(ascii: "a") < 26
    }
}

// MARK: - Literals

extension Lexer {
    private mutating func string(quote: UInt8) throws(PredicateError) -> String {
        let start = position
        var bytes: [UInt8] = []
        position += 1
        while let byte = byte(at: position) {
            position += 1
            if byte == quote { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(byte == UInt8(ascii: "\\") ? try escape() : byte)
        }
        throw error("the string that starts here has no end", at: start)
    }

    private mutating func escape() throws(PredicateError) -> UInt8 {
        guard let byte = byte(at: position) else { throw error("the text ends inside an escape") }
        guard let meant = Lexer.escapes[byte] else {
            throw error("unknown escape: only \\\\ \\' \\\" \\n \\r \\t exist", at: position - 1)
        }
        position += 1
        return meant
    }

    private static let escapes: [UInt8: UInt8] = [
        UInt8(ascii: "\\"): UInt8(ascii: "\\"), UInt8(ascii: "'"): UInt8(ascii: "'"),
        UInt8(ascii: "\""): UInt8(ascii: "\""), UInt8(ascii: "n"): 0x0A, UInt8(ascii: "r"): 0x0D,
        UInt8(ascii: "t"): 0x09,
    ]

    private mutating func number() throws(PredicateError) -> Token.Kind {
        let start = position
        if text[position] == UInt8(ascii: "-") { position += 1 }
        skipDigits()
        let hasFraction = skipFraction()
        let hasExponent = try skipExponent()
        if let byte = byte(at: position), Lexer.startsWord(byte) { throw error("this is not a number", at: start) }
        let digits = String(decoding: text[start..<position], as: UTF8.self)
        if !hasFraction && !hasExponent {
            guard let integer = Int64(digits) else { throw error("this number does not fit 64 bits", at: start) }
            return .integer(integer)
        }
        guard let double = Double(digits), double.isFinite else { throw error("this number is too large", at: start) }
        return .double(double)
    }

    private mutating func skipDigits() {
        while Lexer.isDigit(byte(at: position)) { position += 1 }
    }

    private mutating func skipFraction() -> Bool {
        guard byte(at: position) == UInt8(ascii: "."), Lexer.isDigit(byte(at: position + 1)) else { return false }
        position += 1
        skipDigits()
        return true
    }

    private mutating func skipExponent() throws(PredicateError) -> Bool {
        guard let letter = byte(at: position), letter | 0x20 == UInt8(ascii: "e") else { return false }
        position += 1
        if let sign = byte(at: position), sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { position += 1 }
        guard Lexer.isDigit(byte(at: position)) else { throw error("the exponent has no digits") }
        skipDigits()
        return true
    }
}
