import JSON
import Testing

struct InvalidStringTests {
    static let ends = [
        InvalidText("\"", endsBefore: "the end of a string"), InvalidText("\"abc", endsBefore: "the end of a string"),
        InvalidText("\"abcdefghijklmnop", endsBefore: "the end of a string"),
        InvalidText("\"\\", endsBefore: "an escape"),
        InvalidText("\"\\\"", endsBefore: "the end of a string"),
        InvalidText("\"\\u", endsBefore: "an escape of four hex digits"),
        InvalidText("\"\\u12", endsBefore: "an escape of four hex digits"),
        InvalidText("\"\\uD83D", endsBefore: "the other half of a surrogate pair"),
        InvalidText("\"\\uD83D\\", endsBefore: "the other half of a surrogate pair"),
        InvalidText("\"\\uD83D\\uDE", endsBefore: "an escape of four hex digits"),
    ]

    static let escapes = [
        InvalidText(#""\a""#, .badEscape, at: 1), InvalidText(#""x\'y""#, .badEscape, at: 2),
        InvalidText(#""\0""#, .badEscape, at: 1),
        InvalidText(#""\x41""#, .badEscape, at: 1), InvalidText(#""\U0041""#, .badEscape, at: 1),
        InvalidText(#""\N""#, .badEscape, at: 1), InvalidText("\"\\\n\"", .badEscape, at: 1),
        InvalidText("\"\\ \"", .badEscape, at: 1),
        InvalidText(#""\u""#, .badEscape, at: 1), InvalidText(#""\u12""#, .badEscape, at: 1),
        InvalidText(#""\u123""#, .badEscape, at: 1),
        InvalidText(#""\u12G4""#, .badEscape, at: 1), InvalidText(#""\u 123""#, .badEscape, at: 1),
        InvalidText(#""\u+123""#, .badEscape, at: 1), InvalidText(#""\u{41}""#, .badEscape, at: 1),
        InvalidText(#""\uD83D\uZZZZ""#, .badEscape, at: 7), InvalidText(#""\u00e""#, .badEscape, at: 1),
        InvalidText("\"\\é\"", .badEscape, at: 1), InvalidText(#""\u004１""#, .badEscape, at: 1),
    ]

    static let surrogates = [
        InvalidText(#""\uD800""#, .loneSurrogate, at: 1), InvalidText(#""ab\uDBFFcd""#, .loneSurrogate, at: 3),
        InvalidText(#""\uDC00""#, .loneSurrogate, at: 1), InvalidText(#""\udfff""#, .loneSurrogate, at: 1),
        InvalidText(#""\uD800\uD800""#, .loneSurrogate, at: 1), InvalidText(#""\uD800\u0041""#, .loneSurrogate, at: 1),
        InvalidText(#""\uD800\n""#, .loneSurrogate, at: 1), InvalidText(#""\uDE00\uD83D""#, .loneSurrogate, at: 1),
        InvalidText(#""\uD83D\uDE00\uDE00""#, .loneSurrogate, at: 13),
        InvalidText(#"{"\uD800":1}"#, .loneSurrogate, at: 2),
    ]

    /// Examples of every kind of sequence that is not well-formed (Unicode 15, table 3-7).
    static let badUTF8: [[UInt8]] = [
        [0x80], [0xBF], [0xC0, 0x80], [0xC0, 0xAF], [0xC1, 0xBF], [0xC2], [0xC2, 0x7F], [0xC2, 0xC0], [0xDF, 0x22],
        [0xE0, 0x80, 0x80], [0xE0, 0x9F, 0xBF], [0xE1, 0x80], [0xE1, 0x80, 0x7F], [0xE1, 0x80, 0xC0],
        [0xE1, 0xC0, 0x80],
        [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xEF, 0xBF], [0xEF, 0x22],
        [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x8F, 0xBF, 0xBF], [0xF0, 0x90, 0x80], [0xF0, 0x90, 0x80, 0x7F],
        [0xF0, 0x90, 0x7F, 0x80], [0xF1, 0x80, 0x80, 0xC0], [0xF4, 0x90, 0x80, 0x80], [0xF4, 0xBF, 0xBF, 0xBF],
        [0xF5, 0x80, 0x80, 0x80], [0xF8, 0x88, 0x80, 0x80, 0x80], [0xFC, 0x84, 0x80, 0x80, 0x80, 0x80], [0xFE], [0xFF],
    ]

    @Test(arguments: ends + escapes + surrogates)
    func `an invalid string is refused with the reason and the offset of its first mistake`(_ invalid: InvalidText) {
        #expect(refusal(invalid.bytes) == invalid.error)
    }

    @Test(arguments: badUTF8)
    func `bytes that are not UTF-8 are refused at any position`(_ bad: [UInt8]) {
        for before in 0..<10 {
            for filler in [Array("x".utf8), Array("é".utf8)] {
                let text = Array("[\"".utf8) + (0..<before).flatMap { _ in filler }
                #expect(refusal(text + bad + Array("\"]".utf8)) == JSONError(.invalidUTF8, at: text.count))
                #expect(refusal(text + bad) == JSONError(.invalidUTF8, at: text.count))
            }
        }
    }

    @Test func `every control character is refused at any position`() {
        for byte in UInt8(0)..<0x20 {
            for before in 0..<17 {
                let text = [UInt8(ascii: "\"")] + [UInt8](repeating: UInt8(ascii: "x"), count: before)
                let error = JSONError(.controlCharacter(byte), at: text.count)
                #expect(refusal(text + [byte] + Array("abcdefgh\"".utf8)) == error)
                #expect(refusal(text + [byte]) == error)
            }
        }
    }

    @Test func `every sequence of two non-ASCII bytes is accepted or refused as by Swift`() {
        for first in UInt8(0x80)...0xFF {
            for second in UInt8(0x80)...0xFF {
                let isValid = String(validating: [first, second], as: UTF8.self) != nil
                let text = [UInt8(ascii: "\""), first, second, UInt8(ascii: "\"")]
                #expect((refusal(text) == nil) == isValid, "\(text)")
            }
        }
    }
}
