import TestSupport
import Testing

@testable import Predicates

struct BadInputTests {
    private func error(_ text: String, _ dialect: PredicateReader.Dialect = .cloudKit) throws -> PredicateError {
        try #require(throws: PredicateError.self) { try PredicateReader(dialect).read(text: text) }
    }

    @Test(.timeLimit(.minutes(5)), arguments: [PredicateReader.Dialect.cloudKit, .extended])
    func `a hundred kilobytes of a repeated piece are read or refused within the time limit`(
        _ dialect: PredicateReader.Dialect
    ) throws {
        var accepted: Set<String> = []
        for piece in [
            "(", "NOT ", "!", "a", "a == 1 AND ", "'", "\\'", "%@ ", "{", "1,", "a.b", "ä", "[", "a IN {1,2,3} AND ",
            "self CONTAINS 'x' AND ",
            "a == 1 OR ", "(a != 1 OR b == 2) AND ", "a IN {1,2,3} OR ", "ALL a > 1 AND ", "a CONTAINS 1 AND ",
            "NOT a CONTAINS 1 AND ", "(a == 1 AND a == 2 OR b < 1) AND ", "(a == 'x' OR ", "CAST(", "tokenize(",
            "a != 1 AND ", "ANY ", "((a == 1) AND ", "\u{1F436}", "a == 'x' AND a != 'y' AND ",
        ] {
            let text = String(repeating: piece, count: (PredicateLimits.textBytesMax - 10) / piece.utf8.count)
            let ended = text + "b == 2"
            for text in [text, ended, "a IN {\(text)1}", "a == '\(text)'"] {
                do {
                    _ = try PredicateReader(dialect).read(text: text)
                    if text == ended { accepted.insert(piece) }
                } catch {
                    #expect(error.offset.map { (0...text.utf8.count).contains($0) } ?? !error.path.isEmpty)
                    #expect(error.reason.utf8.count < 1000 && error.rendered(in: text).utf8.count < 2000)
                }
            }
        }
        #expect(accepted.count == (dialect == .cloudKit ? 9 : 13), "\(accepted)")
    }

    @Test(.timeLimit(.minutes(5)))
    func `thousands of comparisons of one field are checked for contradictions within the time limit`() throws {
        let lists = Array(repeating: "a IN {" + (0..<900).map { "\($0)" }.joined(separator: ",") + "}", count: 25)
        #expect(try PredicateReader().read(text: lists.joined(separator: " AND ")).warnings.isEmpty)
        let many = (0..<10_000).map { "a!=\($0 % 9)" }.joined(separator: "&&")
        #expect(try PredicateReader().read(text: many).predicate.clauses.count == 10_000)
        let alternatives = (0..<9_000).map { "a==\($0 % 9)" }.joined(separator: "||")
        #expect(try PredicateReader(.extended).read(text: alternatives).predicate.alternatives.count == 1)
    }

    @Test func `nesting, texts, names and words beyond a limit are refused`() throws {
        for opening in ["(", "NOT (", "! NOT (", "a == 1 OR ("] {
            let deep = try error(String(repeating: opening, count: 5000) + "a == 1", .extended)
            #expect(deep.code == "predicate.limit" && deep.reason.contains("128"))
        }
        #expect(try error("a == '" + String(repeating: "x", count: 200_000) + "'").reason.contains("102400"))
        #expect(try error(String(repeating: "a", count: 256) + " == 1").reason.contains("255"))
        let words = (0..<101).map { "w\($0)" }.joined(separator: " ")
        #expect(try error("self CONTAINS '\(words)'").code == "predicate.limit")
    }

    @Test(arguments: [
        (
            #"{"comparator":"NEAR","fieldName":"p","fieldValue":{"value":{"latitude":1,"longitude":2}}}"#,
            "predicate.missing", ".distance"
        ),
        (
            #"{"comparator":"NEAR","fieldName":"p","fieldValue":{"value":{"latitude":1,"longitude":2}},"distance":-1}"#,
            "predicate.type", ".distance"
        ),
        (
            #"{"comparator":"NEAR","fieldName":"p","fieldValue":{"value":{"latitude":1,"longitude":2}},"distance":"5"}"#,
            "predicate.type", ".distance"
        ),
        (
            #"{"comparator":"NEAR","fieldName":"p","fieldValue":{"value":{"latitude":91,"longitude":2}},"distance":5}"#,
            "predicate.type", ".fieldValue.value"
        ),
        (
            #"{"comparator":"NEAR","fieldName":"p","fieldValue":{"value":"x"},"distance":5}"#, "predicate.type",
            ".fieldValue.value"
        ),
        (
            #"{"comparator":"EQUALS","fieldName":"p","fieldValue":{"value":1},"distance":5}"#, "predicate.unsupported",
            ".distance"
        ),
        (
            #"{"comparator":"EQUALS","fieldName":"p","fieldValue":{"value":{"latitude":1,"longitude":2}}}"#,
            "predicate.type", ".fieldValue.value"
        ),
        (
            #"{"comparator":"EQUALS","fieldName":"p","fieldValue":{"value":{"downloadURL":"u"},"type":"ASSETID"}}"#,
            "predicate.type", ".fieldValue.value"
        ),
        (
            #"{"comparator":"NOT_EQUALS","fieldName":"p","fieldValue":{"value":true}}"#, "predicate.type",
            ".fieldValue.value"
        ),
        (#"{"comparator":"CONTAINS_ANY_TOKENS","fieldValue":{"value":7}}"#, "predicate.type", ".fieldValue.value"),
        (
            #"{"comparator":"EQUALS","fieldName":"p","fieldValue":{"value":"x","type":"BYTES"}}"#, "predicate.type",
            ".fieldValue.value"
        ),
        (#"{"comparator":"EQUALS","fieldName":"p","fieldvalue":{"value":1}}"#, "predicate.unknown_key", ".fieldvalue"),
        (
            #"{"comparator":"EQUALS","fieldName":"p","fieldValue":{"value":1,"kind":2}}"#, "predicate.unknown_key",
            ".fieldValue.kind"
        ),
        (
            #"{"comparator":"EQUALS","fieldName":"p","systemFieldName":"recordName","fieldValue":{"value":1}}"#,
            "predicate.unsupported", ".systemFieldName"
        ),
        (
            #"{"comparator":"BEGINS_WITH","systemFieldName":"recordName","fieldValue":{"value":"x"}}"#,
            "predicate.type", ".fieldValue.value"
        ),
        (
            #"{"comparator":"LESS_THAN","systemFieldName":"created","fieldValue":{"value":"x"}}"#, "predicate.type",
            ".fieldValue.value"
        ),
        (#"{"comparator":"EQUALS","fieldName":"a.b","fieldValue":{"value":1}}"#, "predicate.syntax", ".fieldName"),
        (
            #"{"comparator":"EQUALS","fieldName":"p","fieldValue":{"value":1},"ignoresCase":1}"#, "predicate.type",
            ".ignoresCase"
        ),
        (#"{"comparator":"IN","fieldName":"p","fieldValue":{"value":[[1]]}}"#, "predicate.type", ".fieldValue.value"),
        (
            #"{"comparator":"IN","fieldName":"p","fieldValue":{"value":[1],"type":"INT64"}}"#, "predicate.type",
            ".fieldValue.value"
        ),
        (
            #"{"comparator":"IN","fieldName":"p","fieldValue":{"value":["1"],"type":"INT64_LIST"}}"#, "predicate.type",
            ".fieldValue.value"
        ),
    ])
    func `a wrong filter is refused with the path of the mistake`(
        _ filter: String, _ code: String, _ path: String
    ) throws {
        let error = try #require(throws: PredicateError.self) { try RecordPredicate.filter("[\(filter)]") }
        #expect(error.code == code && error.path == "filterBy[0]" + path, "\(error)")
    }

    // MARK: Fuzzing

    @Test(arguments: Seeded.seeds)
    func `a predicate with changed bytes is read and printed back, or refused with an offset`(seed: UInt64) throws {
        var random = RandomPredicates(seed)
        var (accepted, refused) = (0, 0)
        for _ in 0..<3000 {
            var bytes = Array(random.extended().text.utf8)
            for _ in 0...random.random.below(3) { Self.mutate(&bytes, &random.random) }
            let text = String(decoding: bytes, as: UTF8.self)
            for dialect in [PredicateReader.Dialect.cloudKit, .extended] {
                do {
                    let predicate = try PredicateReader(dialect).read(text: text).predicate
                    accepted += 1
                    try #require(try PredicateReader(dialect).predicate(predicate.text) == predicate, "\(text)")
                } catch let error as PredicateError {
                    refused += 1
                    try #require(error.offset.map { (0...text.utf8.count).contains($0) } == true, "\(text): \(error)")
                    try #require(!error.rendered(in: text).isEmpty)
                }
            }
        }
        #expect(accepted > 300 && refused > 300, "\(accepted) accepted, \(refused) refused")
    }

    private static func mutate(_ bytes: inout [UInt8], _ random: inout Seeded) {
        guard !bytes.isEmpty else { return }
        let start = random.below(bytes.count)
        switch random.below(4) {
        case 0: bytes[start] = UInt8(random.below(256))
        case 1: bytes.remove(at: start)
        case 2:
            bytes.insert(
                contentsOf: bytes[start..<min(bytes.count, start + random.below(20))], at: random.below(bytes.count))
        default: bytes.removeSubrange(start..<min(bytes.count, start + random.below(20)))
        }
    }

    @Test(arguments: Seeded.seeds)
    func `a filter with random members is read, or refused with its path`(seed: UInt64) throws {
        var random = Seeded(seed)
        let values = [
            "null", "true", "7", "1e400", "-0.5", "\"\"", "\"x\"", "[]", "[1,\"x\"]", "{}", #"{"value":1}"#,
            #"{"value":"x","type":"STRING"}"#,
            #"{"value":[],"type":"INT64_LIST"}"#, #"{"value":{"latitude":1,"longitude":2}}"#, #"{"value":null}"#,
            #"{"value":{"recordName":"x"}}"#, "\"recordName\"", "\"NEAR\"", "[[[]]]",
        ]
        let keys = ["comparator", "fieldName", "systemFieldName", "fieldValue", "distance", "ignoresCase", "x"]
        let names = FilterComparators.byName.keys.sorted()
        var accepted = 0
        for _ in 0..<5000 {
            var members = [#""comparator":"\#(random.one(of: names))""#]
            for key in keys
            where random.isOneIn(key == "fieldValue" || key == "fieldName" ? 2 : 8) && key != "comparator" {
                members.append(#""\#(key)":\#(key == "fieldName" ? "\"f\"" : random.one(of: values))"#)
            }
            let filter = "[{\(members.joined(separator: ","))}]"
            do {
                _ = try RecordPredicate.filter(filter)
                accepted += 1
            } catch let error as PredicateError {
                try #require(error.path.hasPrefix("filterBy[0]") && error.offset == nil, "\(filter): \(error)")
            }
        }
        #expect(accepted > 20, "\(accepted)")
    }
}
