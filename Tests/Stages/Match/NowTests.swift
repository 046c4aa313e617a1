import JSON
import PipelineKit
import Predicates
import TestSupport
import Testing
import Time

@testable import Match

/// Predicates with `now()`: the index agrees with the predicate at the time of each change.
struct NowTests {
    private static let texts = [
        "due < now()", "due <= now() AND n == 1", "now() <= due", "due == now()", "NOT due == now()",
        "due BETWEEN {500, now()}", "due CONTAINS now()", "ANY due == now()", "n == 1 AND due > now()", "n == 1",
    ]

    private static func save(_ text: String, _ number: Int) -> String {
        Line.save(Line.query(#""predicate":"\#(text)""#), id: "s\(number)")
    }

    @Test func `now is the time of each change`() throws {
        var feed = try Feed()
        for (number, text) in Self.texts.enumerated() { _ = try feed.send(Self.save(text, number)) }
        #expect(feed.rejections == [])
        var (found, all) = (0, 0)
        for now in [900, 1_000, 1_001] as [Int64] {
            for due in ["999", "1000", "[1000,7]", "\"x\""] {
                let fields = #"{"due":{"value":\#(due)},"n":{"value":1}}"#
                let matches = try feed.send(Line.change(fields: fields), at: now * 1_000)
                let expected = try withJSON(fields) { json in
                    try Self.texts.indices.filter { try RecordPredicate(text: Self.texts[$0]).matches(json, now: now) }
                }
                #expect(matches.count == expected.count, "\(due) at \(now)")
                for number in expected { #expect(matches.contains { $0.contains(#""s\#(number)""#) }, "\(number)") }
                (found, all) = (found + expected.count, all + Self.texts.count)
            }
        }
        #expect(found > all / 5 && found < all * 4 / 5, "\(found) of \(all)")
    }

    @Test func `an explanation uses the time of the change, too`() throws {
        var feed = try Feed()
        _ = try feed.send(Self.save("due < now()", 0))
        let line = Line.change(fields: #"{"due":{"value":1000}}"#)
        for (now, code) in [(1_000, ExplanationCode.clauseFalse), (1_001, .clauseTrue)] as [(Int64, ExplanationCode)] {
            let explanations = try InputEvent.read(line, sequence: 2) {
                feed.stage.explain($0, at: Instant(microseconds: now * 1_000), for: ExplainedSubject())
            }
            #expect(try #require(explanations.first).parts.contains { $0.code == code }, "\(explanations)")
        }
    }
}
