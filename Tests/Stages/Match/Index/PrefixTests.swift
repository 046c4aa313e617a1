import Testing

@testable import Match

/// For a prefix, the index compares only the first 31 bits of strings. If these bits are not enough, the predicate
/// decides.
@Suite struct PrefixTests {
    private static let texts = [
        "", "a", "ab", "abc", "abcd", "abcda", "abcdb", "abcdbz", "abce", "Abcd", "abcé", "abcéx", "日", "日本", "日本語",
    ]

    @Test(arguments: [0, 20])
    func `a prefix of any length finds the texts that start with it`(others: Int) throws {
        var feed = try Feed()
        // The index has the first eight subscriptions in a list, and later subscriptions in intervals. So with 20
        // earlier subscriptions, the prefixes of all texts are in intervals.
        for number in 0..<others { _ = try feed.send(save("zz\(number)", id: "other\(number)")) }
        for text in Self.texts { _ = try feed.send(save(text, id: "to-\(text)")) }
        #expect(feed.rejections == [])
        for text in Self.texts {
            let expected = Self.texts.filter { text.utf8.starts(with: $0.utf8) }.map { "to-\($0)" }
            let fields = #"{"t":{"value":"\#(text)","type":"STRING"}}"#
            #expect(try feed.watchers(Line.change(fields: fields)) == expected, "\(text)")
        }
    }

    private func save(_ prefix: String, id: String) -> String {
        Line.save(Line.query(#""predicate":"t BEGINSWITH '\#(prefix)'""#), id: id)
    }
}
