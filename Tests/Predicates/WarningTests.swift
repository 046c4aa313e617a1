import TestSupport
import Testing

@testable import Predicates

struct WarningTests {
    @Test(arguments: [
        ("a > 3 AND a < 2", 10), ("a == 1 AND a == 2", 11), ("a IN {}", 0), ("a > 3 AND a < 3", 10),
        ("a >= 3 AND a < 3", 11), ("a BETWEEN {3, 2}", 0), ("a == 1 AND b == 2 AND a > 1", 22),
        ("a IN {1, 2} AND a IN {3}", 16), ("a IN {1, 2} AND NOT a IN {1, 2, 3}", 20), ("a == 1 AND a == 'x'", 11),
        ("a == 1 AND a CONTAINS 1", 11), ("a BEGINSWITH 'x' AND a BEGINSWITH 'y'", 21),
        ("a BEGINSWITH 'xy' AND a == 'x'", 22), ("a == 'x' AND a == 'X' AND a != 'x'", 26),
        ("self CONTAINS 'the'", 0), ("FALSEPREDICATE", 0), ("a == 1 AND NOT TRUEPREDICATE", 15),
        ("recordID == 'x' AND recordID == 'X'", 20), ("a != 1 AND a == 1.0", 11), ("a > 'b' AND a < 'B'", 12),
        ("ANY t IN {}", 0), ("creationDate > 5 AND creationDate < 5", 21),
    ])
    func `what can never be true is taken with a warning at its place`(_ text: String, _ offset: Int) throws {
        let warnings = try PredicateReader().read(text: text).warnings
        let first = try #require(warnings.first)
        #expect(first.code == "predicate.never" && first.place == .init(path: "predicate", offset: offset), "\(first)")
    }

    @Test(arguments: [
        "a > 3 AND a < 4", "a >= 3 AND a <= 3", "a == 1 AND b == 2", "a IN {1, 2} AND a != 1", "NOT a IN {}",
        "t CONTAINS 1 AND t CONTAINS 2", "a BEGINSWITH 'AB' AND a == 'abc'", "a ==[n] 'A' AND a == 'a'",
        "TRUEPREDICATE",
        "a BEGINSWITH 'x' AND a BEGINSWITH 'xy'", "a == 'x' AND a > 'a'", "a IN {1, 'x'} AND a == 'x'",
        "a != 1 AND a != 2", "a != nil AND a == 1", "a == bytes('QQ==') AND a ==[n] 'QQ=='",
        "self CONTAINS 'x' AND self CONTAINS 'y'",
    ])
    func `what can be true has none`(_ text: String) throws {
        #expect(try PredicateReader().read(text: text).warnings.isEmpty)
    }

    @Test func `of filterBy the filter is named`() throws {
        let reading = try PredicateReader().read(
            #""filterBy":[{"comparator":"EQUALS","fieldName":"a","fieldValue":{"value":1}},{"comparator":"LESS_THAN","fieldName":"a","fieldValue":{"value":1}}]"#
        )
        #expect(reading.warnings.map(\.place) == [.init(path: "filterBy[1]", offset: nil)])
    }

    private static let values = [
        "1", "1.5", "2", "0", "3", "\"a\"", "\"A\"", "\"ab\"", "\"Ab\"", "\"b\"", "\"B\"", "\"\"",
    ]

    @Test(arguments: Seeded.seeds)
    func `no value satisfies what is warned of`(seed: UInt64) throws {
        var random = Seeded(seed)
        var warned = 0
        for _ in 0..<3000 {
            var clauses: [Clause] = []
            for _ in 0...random.below(4) { clauses.append(Self.clause(&random)) }
            let predicate = RecordPredicate(clauses: clauses)
            guard !Contradictions.warnings(predicate, { _ in .init(path: "", offset: nil) }).isEmpty else { continue }
            warned += 1
            for value in Self.values {
                try #require(try !predicate.matches(record(value)), "\(predicate.text) for \(value), seed \(seed)")
            }
        }
        #expect(warned > 300, "\(warned)")
    }

    private static func clause(_ random: inout Seeded) -> Clause {
        let numbers: [FieldValue] = [.integer(1), .double(1.5), .double(2.0), .integer(2)]
        let texts = ["a", "A", "ab", "B"].map { FieldValue(text: $0) }
        let values = random.isOneIn(2) ? numbers : texts
        let comparator = random.one(
            of: [
                Clause.Comparator.equals, .isIn, .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals,
                .beginsWith,
            ]
        )
        let count = comparator == .isIn ? random.below(4) : 1
        return Clause(
            field: "f", comparator,
            (0..<count).map { _ in comparator == .beginsWith ? random.one(of: texts) : random.one(of: values) },
            foldsCase: random.isOneIn(2), isNegated: random.isOneIn(3))
    }
}
