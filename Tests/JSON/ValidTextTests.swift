import JSON
import Testing

/// A text that RFC 8259 allows, and the same text without white space and with only the necessary escapes.
struct ValidText: Sendable, CustomTestStringConvertible {
    let text: String
    let meaning: String

    init(_ text: String, _ meaning: String? = nil) {
        self.text = text
        self.meaning = meaning ?? text
    }

    var testDescription: String { String(reflecting: text) }
}

struct ValidTextTests {
    static let scalars = [
        ValidText("null"), ValidText("true"), ValidText("false"), ValidText("0"), ValidText("\"\""),
        ValidText(" 1 ", "1"), ValidText("\n\r\t null\t\r\n ", "null"), ValidText("\"a\"\n", "\"a\""),
    ]

    static let numbers = [
        "-0", "-1", "9", "10", "1234567890", "0.0", "-0.0", "0.5", "1.50", "-12.25", "0e0", "0E0", "0e+0", "0e-0",
        "1e1",
        "1E2", "1e+3", "1E-4", "1.5e300", "-1.5E-300", "1e400", "-1e400", "1e-400", "0.1e00001", "123e65",
        "100000000000000000000000000000000000000000000000000", "0." + String(repeating: "0", count: 60) + "1",
        "9223372036854775808", "-9223372036854775809", "1e99999999999999999999",
    ].map { ValidText($0) }

    static let strings = [
        ValidText(#""\"\\\/\b\f\n\r\t""#, #""\"\\/\b\f\n\r\t""#),
        ValidText(#""\u0041\u00e9\u4E2d\uD83D\uDE00""#, "\"Aé中😀\""),
        ValidText(#""\u0000\u001f\u007f""#, "\"\\u0000\\u001f\u{7F}\""),
        ValidText(#""\uD800\uDC00\uDBFF\uDFFF""#, "\"\u{10000}\u{10FFFF}\""),
        ValidText(#""\uabcd\uABCD\uFFFE\uFFFF""#, "\"\u{ABCD}\u{ABCD}\u{FFFE}\u{FFFF}\""),
        ValidText(#""\\u0041""#), ValidText(#""\\\u0041""#, #""\\A""#), ValidText(#""\\\\""#),
        ValidText("\"\u{7F}\""), ValidText("\"\u{80}\u{7FF}\u{800}\u{FFFF}\u{10000}\u{10FFFF}\""),
        ValidText("\"\u{D7FF}\u{E000}\u{FEFF}\u{2028}\u{2029}\""), ValidText("\"e\u{301}\""),
        ValidText("\"// no comment /* at all */\""), ValidText("\"[{,:}]\""), ValidText("\"'\""),
        ValidText("\"1234567\""), ValidText("\"12345678\""), ValidText("\"1234567é9012345é\""),
    ]

    static let containers = [
        ValidText("[]"), ValidText("{}"), ValidText("[ ]", "[]"), ValidText("{\n}", "{}"), ValidText("[[]]"),
        ValidText("[{}]"), ValidText("{\"\":{}}"), ValidText("[null,true,false,1,\"\",[],{}]"),
        ValidText(" [ 1 , 2\t,\r\n3 ] ", "[1,2,3]"), ValidText("{ \"a\" : 1 , \"b\" : [ ] }", "{\"a\":1,\"b\":[]}"),
        ValidText("{\"a\":1,\"a\":1}"), ValidText("{\"\\u0061\":1}", "{\"a\":1}"), ValidText("{\"a\\nb\":\"c\\nd\"}"),
        ValidText("[[[[[[[[1]]]],2]],3]]"), ValidText("{\"a\":{\"b\":{\"c\":[{\"d\":null}]}},\"e\":0}"),
        ValidText("[1,[2,[3,[4]],5],6]"), ValidText("{\"ключ\":\"значение\",\"键\":\"值\"}"),
    ]

    @Test(arguments: scalars + numbers + strings + containers)
    func `a valid text is read with the expected values`(_ valid: ValidText) {
        #expect(read(valid.text) { Tree($0).text } == .success(valid.meaning))
    }

    @Test(arguments: scalars + numbers + strings + containers)
    func `a valid text is valid inside containers and white space`(_ valid: ValidText) {
        #expect(read("[\(valid.text)]") { Tree($0).text } == .success("[\(valid.meaning)]"))
        let nested = "{\"k\":\(valid.text) ,\n\"l\" : [ \(valid.text)\t]}"
        #expect(read(nested) { Tree($0).text } == .success("{\"k\":\(valid.meaning),\"l\":[\(valid.meaning)]}"))
    }

    @Test func `every ASCII character that needs no escape is accepted in a string`() {
        for byte in UInt8(0x20)...0x7F where byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\") {
            for length in 0..<18 {
                let inner = [UInt8](repeating: UInt8(ascii: "x"), count: length) + [byte]
                let quoted = [UInt8(ascii: "\"")] + inner + [UInt8(ascii: "\"")]
                #expect(read(quoted) { $0.plain.map { Array($0) } } == .success(inner))
            }
        }
    }
}
