/// Why a text is not accepted as JSON, and at which byte.
public struct JSONError: Error, Equatable, Sendable {
    /// The kind of the mistake.
    public enum Reason: Equatable, Sendable {
        case empty
        case unexpectedEnd(expected: String)
        case unexpectedByte(UInt8, expected: String)
        case trailingBytes
        case byteOrderMark
        case invalidUTF8
        case controlCharacter(UInt8)
        case badEscape
        case loneSurrogate
        /// A number with a leading zero.
        case badNumber
        case tooDeep(limit: Int)
        case tooLong(bytes: Int, limit: Int)
        case duplicateKey(String)
    }

    /// The first mistake in the text. A repeated key is only reported by a parser that refuses repeated keys, and only
    /// if there is no other mistake.
    public let reason: Reason
    /// The byte offset in the text, from 0.
    public let offset: Int

    /// Makes the error that ``JSONParser`` throws.
    public init(_ reason: Reason, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    /// A stable word for programs: `json.lone_surrogate`, `json.too_deep`, ...
    public var code: String {
        switch reason {
        case .empty: "json.empty"
        case .unexpectedEnd: "json.unexpected_end"
        case .unexpectedByte: "json.unexpected_byte"
        case .trailingBytes: "json.trailing_bytes"
        case .byteOrderMark: "json.byte_order_mark"
        case .invalidUTF8: "json.invalid_utf8"
        case .controlCharacter: "json.control_character"
        case .badEscape: "json.bad_escape"
        case .loneSurrogate: "json.lone_surrogate"
        case .badNumber: "json.bad_number"
        case .tooDeep: "json.too_deep"
        case .tooLong: "json.too_long"
        case .duplicateKey: "json.duplicate_key"
        }
    }
}

extension JSONError: CustomStringConvertible {
    public var description: String { "\(sentence) at byte \(offset)" }

    private var sentence: String {
        switch reason {
        case .empty: "the text is empty, but a JSON value is needed"
        case .unexpectedEnd(let expected): "the text ends where \(expected) is needed"
        case .unexpectedByte(let byte, let expected): "\(JSONError.name(of: byte)) where \(expected) is needed"
        case .trailingBytes: "more text after the end of the value"
        case .byteOrderMark: "a byte order mark (JSON text begins without it)"
        case .invalidUTF8: "not UTF-8"
        case .controlCharacter(let byte):
            "control character \(JSONError.hex(byte)) in a string where its escape is needed"
        case .badEscape: "an unknown escape (the escapes are \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX)"
        case .loneSurrogate:
            "half a surrogate pair (\\uD800 to \\uDBFF without \\uDC00 to \\uDFFF after it, or the reverse)"
        case .badNumber: "a number with a leading zero"
        case .tooDeep(let limit): "nested deeper than the limit of \(limit)"
        case .tooLong(let bytes, let limit): "\(bytes) bytes, over the limit of \(limit)"
        case .duplicateKey(let key): "key \(JSONError.quoted(key)) appears twice in one object"
        }
    }

    private static func name(of byte: UInt8) -> String {
        (0x21...0x7E).contains(byte) ? "'\(Character(UnicodeScalar(byte)))'" : "byte \(hex(byte))"
    }

    private static func hex(_ byte: UInt8) -> String { (byte < 16 ? "0x0" : "0x") + String(byte, radix: 16) }

    /// A key in quotes and with escapes, cut to 64 characters.
    private static func quoted(_ key: String) -> String {
        let isLong = key.unicodeScalars.count > 64
        var out = ByteBuffer()
        out.appendJSON(isLong ? String(key.unicodeScalars.prefix(64)) + "…" : key)
        return out.text
    }
}
