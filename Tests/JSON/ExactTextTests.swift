import Testing

@testable import JSON

@Suite struct ExactTextTests {
    private static let composed = ExactText("caf\u{E9}")
    private static let decomposed = ExactText("cafe\u{301}")

    @Test func `canonically equivalent texts are different`() throws {
        #expect(Self.composed.string == Self.decomposed.string, "Swift's own strings are equal")
        #expect(Self.composed != Self.decomposed)
        #expect(Set([Self.composed, Self.decomposed, "caf\u{E9}"]).count == 2)
        #expect(ExactText("") == "" && ExactText("") != "\u{0}")
    }

    @Test func `texts are sorted by their bytes`() {
        let texts: [ExactText] = ["", "cafe\u{301}", "caff", "caf\u{E9}", "\u{1F600}", "\u{FF5E}"]
        #expect(texts.sorted().map(\.string.utf8.first) == [nil, 0x63, 0x63, 0x63, 0xEF, 0xF0])
        #expect(Self.decomposed < Self.composed && !(Self.composed < Self.decomposed))
    }

    @Test func `a JSON string is compared after decoding`() throws {
        var parser = JSONParser()
        let text = #"["caf\u00e9","cafe\u0301",7]"#
        try Array(text.utf8).withUnsafeBytes { bytes in
            let elements = Array(try parser.parse(bytes).elements)
            #expect(elements.map(\.exact) == [Self.composed, Self.decomposed, nil])
        }
    }
}
