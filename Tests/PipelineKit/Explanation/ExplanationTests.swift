import JSON
import PipelineKit
import TestSupport
import Testing

struct ExplanationTests {
    @Test func `an explanation is written as one JSON object with its details in order`() {
        let clause = Explanation("match", .clauseFalse, "stars > 3 is false", [.init("field", "stars")])
        let explanation = Explanation(
            "match", .subscriptionNotMatched, "\"feed\" did not watch it", [.init("saved", 3), .init("b", true)],
            parts: [clause])
        var buffer = ByteBuffer()
        explanation.write(into: &buffer)
        #expect(
            buffer.text
                == #"{"stage":"match","code":"subscription.not_matched","text":"\"feed\" did not watch it","details":{"saved":3,"b":true},"#
                + #""parts":[{"stage":"match","code":"clause.false","text":"stars > 3 is false","details":{"field":"stars"}}]}"#
        )
        #expect(explanation.contains(.clauseFalse))
        #expect(!explanation.contains(.clauseTrue))
    }

    @Test func `lists of texts are JSON arrays, also when empty`() {
        #expect(Explanation.Detail("a", []).json == Array("[]".utf8))
        #expect(Explanation.Detail("a", ["x", "\""]).json == Array(#"["x","\""]"#.utf8))
    }

    @Test func `every explanation code has two parts with a dot between them, and a meaning of its own`() {
        let meanings = Set(ExplanationCode.allCases.map(\.meaning))
        #expect(meanings.count == ExplanationCode.allCases.count)
        for code in ExplanationCode.allCases {
            #expect(code.rawValue.wholeMatch(of: /[a-z_]+\.[a-z_]+/) != nil, "\(code.rawValue)")
            #expect(code.meaning.hasSuffix("."))
        }
    }

    @Test func `the page Reference/Codes.md lists every explanation code with its meaning, and no other`() throws {
        let rows = ExplanationCode.allCases.map { ["`\($0.rawValue)`", $0.meaning] }
        try ReferencePage("Codes.md").expect(rows: rows, under: "Explanations")
    }

    @Test func `the page Reference/Codes.md lists every outcome with its meaning, and no other`() throws {
        let rows = OutcomeCode.allCases.map { ["`\($0.rawValue)`", $0.meaning] }
        try ReferencePage("Codes.md").expect(rows: rows, under: "Outcomes")
        #expect(Set(OutcomeCode.allCases.map(\.meaning)).count == OutcomeCode.allCases.count)
    }
}
