import JSON
import Testing

/// A text that the parser must refuse, with the error that it must throw.
struct InvalidText: Sendable, CustomTestStringConvertible {
    let bytes: [UInt8]
    let error: JSONError

    init(_ bytes: [UInt8], _ reason: JSONError.Reason, at offset: Int) {
        self.bytes = bytes
        error = JSONError(reason, at: offset)
    }

    init(_ text: String, _ reason: JSONError.Reason, at offset: Int) { self.init(Array(text.utf8), reason, at: offset) }

    /// A text with an unexpected byte.
    init(_ text: String, _ byte: Character, expected: String, at offset: Int) {
        self.init(text, .unexpectedByte(byte.asciiValue ?? 0, expected: expected), at: offset)
    }

    /// A text that ends too early.
    init(_ text: String, endsBefore expected: String) {
        self.init(text, .unexpectedEnd(expected: expected), at: text.utf8.count)
    }

    var testDescription: String { String(reflecting: String(decoding: bytes, as: UTF8.self)) }
}

struct InvalidTextTests {
    static let noValue = [
        InvalidText("", .empty, at: 0), InvalidText(" \n\t\r", .empty, at: 4),
        InvalidText([0xEF, 0xBB, 0xBF] + Array("1".utf8), .byteOrderMark, at: 0),
        InvalidText([0xEF, 0xBB, 0xBF], .byteOrderMark, at: 0),
        InvalidText([0xEF, 0xBB], .unexpectedByte(0xEF, expected: "a value"), at: 0),
        InvalidText([0xFF, 0xFE, 0x31, 0x00], .unexpectedByte(0xFF, expected: "a value"), at: 0),
        InvalidText("\0", "\0", expected: "a value", at: 0),
        InvalidText("\u{0B}1", "\u{0B}", expected: "a value", at: 0),
        InvalidText("\u{0C}1", "\u{0C}", expected: "a value", at: 0),
        InvalidText("\u{A0}1", .unexpectedByte(0xC2, expected: "a value"), at: 0),
        InvalidText("\u{2028}1", .unexpectedByte(0xE2, expected: "a value"), at: 0),
        InvalidText("/* */1", "/", expected: "a value", at: 0), InvalidText("'a'", "'", expected: "a value", at: 0),
        InvalidText("undefined", "u", expected: "a value", at: 0), InvalidText("*", "*", expected: "a value", at: 0),
        InvalidText("]", "]", expected: "a value", at: 0), InvalidText(",", ",", expected: "a value", at: 0),
    ]

    static let trailing = [
        InvalidText("1 2", .trailingBytes, at: 2), InvalidText("1,", .trailingBytes, at: 1),
        InvalidText("{}}", .trailingBytes, at: 2), InvalidText("[]]", .trailingBytes, at: 2),
        InvalidText("\"a\"\"b\"", .trailingBytes, at: 3), InvalidText("nulll", .trailingBytes, at: 4),
        InvalidText("[]\0", .trailingBytes, at: 2), InvalidText("1//x", .trailingBytes, at: 1),
        InvalidText("1\u{FEFF}", .trailingBytes, at: 1), InvalidText("{} {}", .trailingBytes, at: 3),
        InvalidText([0x31, 0x00], .trailingBytes, at: 1),
    ]

    static let literals = [
        InvalidText("n", endsBefore: "null"), InvalidText("nul", endsBefore: "null"),
        InvalidText("[tru", endsBefore: "true"),
        InvalidText("{\"a\":fals", endsBefore: "false"), InvalidText("nuLl", "L", expected: "null", at: 2),
        InvalidText("True", "T", expected: "a value", at: 0), InvalidText("tru ", " ", expected: "true", at: 3),
        InvalidText("[fa1se]", "1", expected: "false", at: 3), InvalidText("[nan]", "a", expected: "null", at: 2),
    ]

    static let numbers = [
        InvalidText("-", endsBefore: "a digit"), InvalidText("1.", endsBefore: "a digit"),
        InvalidText("1e", endsBefore: "a digit"),
        InvalidText("1E+", endsBefore: "a digit"), InvalidText("0.5e-", endsBefore: "a digit"),
        InvalidText("[-]", "]", expected: "a digit", at: 2), InvalidText("-a", "a", expected: "a digit", at: 1),
        InvalidText("--1", "-", expected: "a digit", at: 1), InvalidText("-.5", ".", expected: "a digit", at: 1),
        InvalidText("[1.]", "]", expected: "a digit", at: 3), InvalidText("1.e5", "e", expected: "a digit", at: 2),
        InvalidText("1.-5", "-", expected: "a digit", at: 2), InvalidText("1e 5", " ", expected: "a digit", at: 2),
        InvalidText("1e+-5", "-", expected: "a digit", at: 3), InvalidText("1e.5", ".", expected: "a digit", at: 2),
        InvalidText("-Infinity", "I", expected: "a digit", at: 1), InvalidText("+1", "+", expected: "a value", at: 0),
        InvalidText(".5", ".", expected: "a value", at: 0), InvalidText("NaN", "N", expected: "a value", at: 0),
        InvalidText("00", .badNumber, at: 0), InvalidText("012", .badNumber, at: 0),
        InvalidText("-01", .badNumber, at: 1),
        InvalidText("[1,-00.5]", .badNumber, at: 4), InvalidText("0x1F", .trailingBytes, at: 1),
        InvalidText("1_000", .trailingBytes, at: 1), InvalidText("1.5.5", .trailingBytes, at: 3),
        InvalidText("1e5e5", .trailingBytes, at: 3), InvalidText("1e5.5", .trailingBytes, at: 3),
        InvalidText("1-1", .trailingBytes, at: 1), InvalidText("1f", .trailingBytes, at: 1),
        InvalidText("１", .unexpectedByte(0xEF, expected: "a value"), at: 0),
        InvalidText("[1 000]", "0", expected: "',' or ']'", at: 3),
    ]

    static let arrays = [
        InvalidText("[", endsBefore: "a value or ']'"), InvalidText("[1", endsBefore: "',' or ']'"),
        InvalidText("[1,", endsBefore: "a value"), InvalidText("[1 ", endsBefore: "',' or ']'"),
        InvalidText("[,", ",", expected: "a value", at: 1), InvalidText("[1,]", "]", expected: "a value", at: 3),
        InvalidText("[1,,2]", ",", expected: "a value", at: 3),
        InvalidText("[1 2]", "2", expected: "',' or ']'", at: 3),
        InvalidText("[1}", "}", expected: "',' or ']'", at: 2),
        InvalidText("[\"a\":1]", ":", expected: "',' or ']'", at: 4),
        InvalidText("[1;2]", ";", expected: "',' or ']'", at: 2), InvalidText("[[]", endsBefore: "',' or ']'"),
        InvalidText("[}", "}", expected: "a value", at: 1), InvalidText("[{}{}]", "{", expected: "',' or ']'", at: 3),
    ]

    static let objects = [
        InvalidText("{", endsBefore: "a key in double quotes or '}'"), InvalidText("{\"a\"", endsBefore: "':'"),
        InvalidText("{\"a\":", endsBefore: "a value"), InvalidText("{\"a\":1", endsBefore: "',' or '}'"),
        InvalidText("{\"a\":1,", endsBefore: "a key in double quotes"),
        InvalidText("{\"a\":1,}", "}", expected: "a key in double quotes", at: 7),
        InvalidText("{,}", ",", expected: "a key in double quotes", at: 1),
        InvalidText("{a:1}", "a", expected: "a key in double quotes", at: 1),
        InvalidText("{'a':1}", "'", expected: "a key in double quotes", at: 1),
        InvalidText("{1:1}", "1", expected: "a key in double quotes", at: 1),
        InvalidText("{\"a\" 1}", "1", expected: "':'", at: 5), InvalidText("{\"a\",1}", ",", expected: "':'", at: 4),
        InvalidText("{\"a\":}", "}", expected: "a value", at: 5),
        InvalidText("{\"a\"::1}", ":", expected: "a value", at: 5),
        InvalidText("{\"a\":1 \"b\":2}", "\"", expected: "',' or '}'", at: 7),
        InvalidText("{\"a\":1]", "]", expected: "',' or '}'", at: 6),
        InvalidText("{]", "]", expected: "a key in double quotes", at: 1),
        InvalidText("{\"a\":1,,\"b\":2}", ",", expected: "a key in double quotes", at: 7),
        InvalidText("{\"a\":1:2}", ":", expected: "',' or '}'", at: 6),
        InvalidText("{\"a\nb\":1}", .controlCharacter(0x0A), at: 3),
    ]

    @Test(arguments: noValue + trailing + literals + numbers + arrays + objects)
    func `an invalid text is refused with the reason and the offset of its first mistake`(_ invalid: InvalidText) {
        #expect(refusal(invalid.bytes) == invalid.error)
    }

    @Test func `an error says what is wrong and where`() {
        #expect(refusal("[1,]")?.description == "']' where a value is needed at byte 3")
        #expect(refusal("{\"a\":1")?.description == "the text ends where ',' or '}' is needed at byte 6")
        #expect(refusal("01")?.description == "a number with a leading zero at byte 0")
        #expect(refusal("[\u{0B}]")?.description == "byte 0x0b where a value is needed at byte 1")
        #expect(refusal("{\"a\":\"\t\"}")?.description.hasPrefix("control character 0x09 in a string") == true)
    }
}
