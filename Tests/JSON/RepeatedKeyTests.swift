import JSON
import Testing

struct RepeatedKeyTests {
    private let strict = JSONLimits(refusesDuplicateKeys: true)

    @Test func `a repeated key is refused only if the limits say so`() {
        let text = #"{"a":1,"b":2,"a":3}"#
        #expect(refusal(text) == nil)
        #expect(refusal(text, limits: strict) == JSONError(.duplicateKey("a"), at: 13))
    }

    @Test(arguments: [2, 15, 16, 17, 40, 1000])
    func `the first repeated key is reported in objects of any size`(members: Int) {
        let different = (0..<members).map { "\"k\($0)\":{\"k\($0)\":0}" }.joined(separator: ",")
        #expect(refusal("{\(different)}", limits: strict) == nil)
        let start = "{\(different),"
        let error = JSONError(.duplicateKey("k1"), at: start.utf8.count)
        #expect(refusal(start + "\"k1\":0,\"k0\":0}", limits: strict) == error)
    }

    @Test(arguments: [0, 20])
    func `an escaped key equals the plain one`(others: Int) {
        let rest = (0..<others).map { ",\"k\($0)\":0" }.joined()
        for (first, second) in [(#"\u0061"#, "a"), ("a", #"\u0061"#), (#"\u0061"#, #"\u0061"#), (#"\/"#, "/")] {
            let error = refusal("{\"\(first)\":1\(rest),\"\(second)\":2}", limits: strict)
            #expect(error?.code == "json.duplicate_key")
            #expect(error?.offset == 6 + first.utf8.count + rest.utf8.count)
        }
        #expect(refusal("{\"\\u0061\":1\(rest),\"b\":2}", limits: strict) == nil)
    }

    @Test func `the same key in different objects is not repeated`() {
        #expect(refusal(#"{"a":{"a":[{"a":1},{"a":2}]},"b":{"a":3}}"#, limits: strict) == nil)
    }

    @Test func `of several repeated keys, the first repetition in the text is reported`() {
        #expect(refusal(#"{"x":{"a":1,"a":2},"x":3}"#, limits: strict) == JSONError(.duplicateKey("a"), at: 12))
        #expect(refusal(#"[{"a":1,"b":2,"b":3,"a":4}]"#, limits: strict) == JSONError(.duplicateKey("b"), at: 14))
    }

    @Test func `keys that only look equal are different`() {
        #expect(refusal("{\"é\":1,\"e\u{301}\":2,\"E\":3,\"e\":4}", limits: strict) == nil)
    }

    @Test func `the error's text cuts a long key and escapes a line break`() {
        let key = String(repeating: "k", count: 100_000)
        let description = refusal("{\"\(key)\":1,\"\(key)\":2}", limits: strict)?.description
        #expect(description?.hasPrefix("key \"kkk") == true && (description?.count ?? 0) < 150)
        let escaped = refusal(#"{"a\nb":1,"a\nb":2}"#, limits: strict)?.description
        #expect(escaped == #"key "a\nb" appears twice in one object at byte 10"#)
    }
}
