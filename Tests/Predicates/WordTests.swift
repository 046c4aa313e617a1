import Testing

@testable import Predicates

struct WordTests {
    private static let fields = #"""
        {"title":{"value":"The Café, re-opened in 2026","type":"STRING"},"tags":{"value":["Straße","ΆΛΦΑ"]},
         "n":{"value":7},"blob":{"value":"hidden","type":"BYTES"},"photo":{"value":{"downloadURL":"url"},"type":"ASSETID"}}
        """#

    @Test(arguments: [
        ("self CONTAINS 'cafe'", true), ("self CONTAINS 'CAFÉ'", true), ("self CONTAINS 'cafe\u{301}'", true),
        ("self CONTAINS 'caf'", false), ("self CONTAINS 'nothing opened'", true), ("self CONTAINS '2026'", true),
        ("self CONTAINS 'straße'", true), ("self CONTAINS 'αλφα'", true), ("self CONTAINS 'hidden'", false),
        ("self CONTAINS 'url'", false), ("self CONTAINS 'the'", false), ("self CONTAINS 'the cafe'", true),
        ("self CONTAINS ''", false), ("self CONTAINS 'cafe' AND self CONTAINS 're'", true),
        ("self CONTAINS 'cafe' AND self CONTAINS 'bar'", false), ("SELF contains 'cafe bar'", true),
        ("allTokens TOKENMATCHES[cdl] 'cafe 2026 strasse'", false), ("allTokens TOKENMATCHES[cdl] 'cafe alfa'", false),
        ("allTokens TOKENMATCHES 'the cafe straße'", true), ("ALL tokenize('cafe opened', 'Cdl') IN allTokens", true),
        ("ALL tokenize('cafe bar', 'Cdl') IN allTokens", false), ("ANY tokenize('cafe bar', 'Cdl') IN allTokens", true),
        ("ANY tokenize:using:('bar', 'Cdl') IN self", false), ("title TOKENMATCHES[cdl] 'cafe'", true),
        ("tags TOKENMATCHES[cdl] 'straße αλφα'", true), ("ANY tokenize('cafe', 'Cdl') IN tags", false),
        ("n TOKENMATCHES[cdl] '7'", false), ("blob TOKENMATCHES[cdl] 'hidden'", false),
    ])
    func `words are found in all string fields, ignoring case and diacritics`(_ text: String, _ holds: Bool) throws {
        #expect(try RecordPredicate(text: text).matches(Self.fields) == holds)
        #expect(try !RecordPredicate(text: text).matches("{}"))
    }

    @Test func `filterBy searches all string fields, or one field`() throws {
        func holds(_ comparator: String, _ value: String, _ more: String = "") throws -> Bool {
            try RecordPredicate.filter(
                #"[{"comparator":"\#(comparator)"\#(more),"fieldValue":{"value":"\#(value)","type":"STRING"}}]"#
            ).matches(Self.fields)
        }
        #expect(try holds("CONTAINS_ANY_TOKENS", "bar cafe"))
        #expect(try !holds("CONTAINS_ALL_TOKENS", "bar cafe"))
        #expect(try holds("CONTAINS_ALL_TOKENS", "straße cafe"))
        #expect(try !holds("CONTAINS_ALL_TOKENS", "straße cafe", #","fieldName":"title""#))
        #expect(try holds("CONTAINS_ANY_TOKENS", "straße cafe", #","fieldName":"title""#))
    }

    @Test func `the 33 stop words are not searched for`() {
        #expect(Words.stopWords.count == 33)
        #expect(Words.sought(Words.stopWords.sorted().joined(separator: " ").uppercased()).isEmpty)
        #expect(Words.sought("The Cat, the cat; CÄT") == [FieldValue(text: "cat")])
    }

    @Test func `letters lose their diacritics, but not strokes or the voicing mark of kana`() {
        for (base, composed) in [("a", "ǻ"), ("o", "ộ"), ("ι", "ΐ"), ("и", "й"), ("е", "ё"), ("u", "Ǘ")] {
            #expect(Words.sought("x" + composed) == [FieldValue(text: "x" + base)], "\(composed)")
        }
        #expect(Words.sought("が").count == 1 && Words.sought("が") != Words.sought("か"))
        #expect(Words.sought("ø ł đ") == ["ø", "ł", "đ"].map { FieldValue(text: $0) })
    }
}
