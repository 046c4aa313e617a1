import TestSupport
import Testing

@testable import Predicates

struct PrintingTests {
    private let strict = PredicateReader()
    private let extended = PredicateReader(.extended)

    @Test(arguments: Seeded.seeds)
    func `a printed predicate is read back unchanged, as text and as filterBy`(seed: UInt64) throws {
        var random = RandomPredicates(seed)
        var (matched, unmatched) = (0, 0)
        for _ in 0..<2000 {
            let predicate = random.predicate()
            let text = predicate.text
            try #require(try strict.predicate(text) == predicate, "\(text), seed \(seed)")
            try #require(predicate.isNever == (predicate.filterBy == nil))
            let filtered = try predicate.filterBy.map { try RecordPredicate.filter($0) } ?? predicate
            try #require(filtered == predicate, "\(predicate.filterBy ?? ""), seed \(seed)")
            let record = random.record()
            let holds = try predicate.matches(record: record)
            try #require(try filtered.matches(record: record) == holds)
            if !holds { unmatched += 1 } else if !predicate.clauses.isEmpty { matched += 1 }
        }
        #expect(matched > 15 && unmatched > 500, "\(matched) matched, \(unmatched) unmatched")
    }

    @Test(arguments: Seeded.seeds)
    func `a predicate with OR is printed and read back as text, but not as filterBy`(seed: UInt64) throws {
        var random = RandomPredicates(seed)
        for _ in 0..<1000 {
            let predicate = random.extended()
            try #require(try extended.predicate(predicate.text) == predicate, "\(predicate.text), seed \(seed)")
            if !predicate.alternatives.isEmpty {
                #expect(predicate.filterBy == nil)
                #expect(throws: PredicateError.self) { try strict.predicate(predicate.text) }
            }
        }
    }

    @Test(arguments: [
        ("a=='X'  and b<>2.50", "a == 'x' AND b != 2.5"), ("((TRUEPREDICATE))", "TRUEPREDICATE"),
        ("a == 1 && FALSEPREDICATE", "FALSEPREDICATE"), ("NOT a < 1", "a >= 1"), ("'x' IN tags", "tags CONTAINS 'x'"),
        ("a BETWEEN {1, 2}", "a >= 1 AND a <= 2"), ("recordName == 'n'", "recordID == reference('n')"),
        ("NOT ANY t IN {1}", "NOT ANY t IN {1}"), ("#in == 1", "#in == 1"), ("#a == 'A'", "a == 'a'"),
        ("a ==[n] 'A'", "a ==[n] 'A'"), ("a BEGINSWITH 'A'", "a BEGINSWITH 'A'"), ("a != NULL", "a != nil"),
        ("t CONTAINS ALL {'a', 2}", "t CONTAINS ALL {'a', 2}"), ("a == 'it\\'s'", "a == 'it\\'s'"),
        ("self CONTAINS 'The Cats, the DOGS'", "self CONTAINS 'cats dogs'"),
        ("ALL tokenize('a1 b1', 'Cdl') IN allTokens", "self TOKENMATCHES[cdl] 'a1 b1'"),
    ])
    func `a predicate is printed in the standard form`(_ text: String, _ printed: String) throws {
        #expect(try RecordPredicate(text: text).text == printed)
    }

    @Test func `filterBy is printed with CloudKit's words and types`() throws {
        func filterBy(_ text: String) throws -> String? { try RecordPredicate(text: text).filterBy }
        #expect(
            try filterBy("a != 1 AND creationDate > 5")
                == #"[{"comparator":"NOT_EQUALS","fieldName":"a","fieldValue":{"value":1,"type":"INT64"}},"#
                + #"{"comparator":"GREATER_THAN","systemFieldName":"createdTimestamp","fieldValue":{"value":5,"type":"TIMESTAMP"}}]"#
        )
        #expect(
            try filterBy("distanceToLocation:fromLocation:(p, location(1.5, 2)) <= 10")
                == #"[{"comparator":"NEAR","fieldName":"p","fieldValue":{"value":{"latitude":1.5,"longitude":2.0},"type":"LOCATION"},"distance":10.0}]"#
        )
        #expect(
            try filterBy("NOT t CONTAINS 'A'")
                == #"[{"comparator":"NOT_LIST_CONTAINS","fieldName":"t","fieldValue":{"value":"a","type":"STRING"},"ignoresCase":true}]"#
        )
        #expect(
            try filterBy("a IN {1, 'x'}")
                == #"[{"comparator":"IN","fieldName":"a","fieldValue":{"value":[1,"x"]},"ignoresCase":true}]"#)
        #expect(try filterBy("TRUEPREDICATE") == "[]")
        #expect(try filterBy("a IN {'x', bytes('QQ==')}") == nil)
    }
}
