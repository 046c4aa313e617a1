import Foundation
import JSON
import PipelineKit
import Testing

struct ExplanationTests {
    @Test func `an explanation is one JSON object, its details in their order`() {
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

    @Test func `lists of texts are JSON arrays, empty ones too`() {
        #expect(Explanation.Detail("a", []).json == Array("[]".utf8))
        #expect(Explanation.Detail("a", ["x", "\""]).json == Array(#"["x","\""]"#.utf8))
    }

    @Test func `every code is a dotted word and has a sentence of its own`() {
        let meanings = Set(ExplanationCode.allCases.map(\.meaning))
        #expect(meanings.count == ExplanationCode.allCases.count)
        for code in ExplanationCode.allCases {
            #expect(code.rawValue.wholeMatch(of: /[a-z_]+\.[a-z_]+/) != nil, "\(code.rawValue)")
            #expect(code.meaning.hasSuffix("."))
        }
    }

    @Test func `the manual lists every code with its meaning, and no other`() throws {
        #expect(
            try rows(of: "Explanations") == ExplanationCode.allCases.map { "| `\($0.rawValue)` | \($0.meaning) |" }
        )
    }

    @Test func `the manual lists every outcome with its meaning, and no other`() throws {
        #expect(try rows(of: "Outcomes") == OutcomeCode.allCases.map { "| `\($0.rawValue)` | \($0.meaning) |" })
        #expect(Set(OutcomeCode.allCases.map(\.meaning)).count == OutcomeCode.allCases.count)
    }

    /// Of the table in a section of the page of codes.
    private func rows(of section: String) throws -> [String] {
        let text = try String(contentsOf: page, encoding: .utf8)
        let section = try #require(text.components(separatedBy: "## \(section)\n").dropFirst().first)
        let table = section.components(separatedBy: "\n## ")[0]
        return table.split(separator: "\n").filter { $0.hasPrefix("| `") }.map(String.init)
    }

    private var page: URL {
        var url = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { url.deleteLastPathComponent() }
        return url.appending(path: "Sources/BelfryTool/Belfry.docc/Reference/Codes.md")
    }
}
