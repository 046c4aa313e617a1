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
        ("distanceToLocation:fromLocation:(a, location(1, 2)) < 0", 54),
        ("0 > distanceToLocation:fromLocation:(a, location(1, 2))", 0),
    ])
    func `a predicate that can never be true is accepted with a warning at the contradiction`(
        _ text: String, _ offset: Int
    ) throws {
        let warnings = try PredicateReader().read(text: text).warnings
        let first = try #require(warnings.first)
        #expect(
            first.code == "predicate.never" && first.position == .init(path: "predicate", offset: offset), "\(first)")
    }

    @Test(arguments: [
        "a > 3 AND a < 4", "a >= 3 AND a <= 3", "a == 1 AND b == 2", "a IN {1, 2} AND a != 1", "NOT a IN {}",
        "t CONTAINS 1 AND t CONTAINS 2", "a BEGINSWITH 'AB' AND a == 'abc'", "a ==[n] 'A' AND a == 'a'",
        "TRUEPREDICATE",
        "a BEGINSWITH 'x' AND a BEGINSWITH 'xy'", "a == 'x' AND a > 'a'", "a IN {1, 'x'} AND a == 'x'",
        "a != 1 AND a != 2", "a != nil AND a == 1", "a == bytes('QQ==') AND a ==[n] 'QQ=='",
        "self CONTAINS 'x' AND self CONTAINS 'y'",
    ])
    func `a predicate without contradictions has no warning`(_ text: String) throws {
        #expect(try PredicateReader().read(text: text).warnings.isEmpty)
    }

    @Test(arguments: [
        ("(a > 3 AND a < 2) OR b == 1", ["side 11"]), ("b == 1 OR (a > 3 AND a < 2)", ["side 21"]),
        ("a == 2 OR (a == 1 AND a == 2)", ["side 22"]), ("a == 1 AND (a == 2 OR a == 3)", ["never 12", "never 22"]),
        ("(a == 2 OR a == 3) AND a == 1", ["never 1", "never 11"]), ("a == 1 AND (a == 2 OR b == 3)", ["side 12"]),
        ("(a == 1 OR a == 2) AND (a == 3 OR a == 4)", ["never 24", "never 34"]),
        ("(a == 1 OR a == 2) AND a == 3", ["never 1", "never 11"]), ("FALSEPREDICATE OR a == 1", ["side 0"]),
        ("a == 1 OR NOT TRUEPREDICATE", ["side 14"]), ("FALSEPREDICATE OR FALSEPREDICATE", ["never 0"]),
        ("a IN {} OR (b == 1 AND (c < 1 AND c > 1 OR b == 2))", ["never 0", "never 34"]),
        ("b == 1 OR (a == 1 AND (a == 2 OR c == 1 OR c == 2))", ["side 23"]),
        ("NOT (a != 1 OR a == 1)", ["never 15"]), ("TRUEPREDICATE OR (a == 1 AND a == 2) OR b < 1 AND b > 1", []),
        ("(a == 1 OR TRUEPREDICATE) AND b < 1 AND b > 1", ["never 40"]),
        ("a == 1 OR b == 1 AND b == 2 OR a == 3", ["side 21"]),
        ("a == 1 OR a == 2", []), ("(a == 1 OR a == 2) AND (a == 2 OR a == 3)", ["side 34"]),
        ("ALL t > 3 AND ALL t < 2", ["empty 14"]), ("ALL t IN {}", ["empty 0"]),
        ("ALL t == 1 AND t CONTAINS 2", ["never 15"]),
        ("t CONTAINS 2 AND ALL t > 3", ["never 17"]), ("t CONTAINS 1 AND NOT t CONTAINS 1", ["never 21"]),
        ("ALL t > 3 AND ALL t < 2 AND ANY t IN {1}", ["never 28", "empty 14"]),
        ("ALL t BEGINSWITH 'x' AND ANY t BEGINSWITH 'y'", ["never 25"]),
        ("ALL t > 1 AND t CONTAINS 'x'", ["never 14"]), ("t CONTAINS ALL {1, 5} AND ALL t < 3", ["never 26"]),
        ("ALL t != 1 AND t CONTAINS 1", ["never 15"]), ("NOT ANY t IN {1, 2} AND t CONTAINS 2", ["never 24"]),
        ("ALL t > 1 AND ALL t BEGINSWITH 'x'", ["empty 14"]), ("ALL t == 1 OR ALL t IN {}", ["empty 14"]),
        ("t CONTAINS 1 AND t CONTAINS 'x'", []), ("ALL t > 3 AND t CONTAINS 4", []), ("ALL t > 1 AND ALL t < 3", []),
        ("NOT t CONTAINS 1 AND NOT t CONTAINS 'x'", []), ("ALL t == 'A' AND t CONTAINS 'a'", []),
    ])
    func `sides of OR and elements of lists are checked, too`(_ text: String, _ found: [String]) throws {
        let words = ["predicate.never": "never", "predicate.never_side": "side", "predicate.only_empty": "empty"]
        let warnings = try PredicateReader(.extended).read(text: text).warnings
        #expect(warnings.map { "\(words[$0.code] ?? $0.code) \($0.position.offset ?? -1)" } == found, "\(warnings)")
    }

    @Test func `a warning about filterBy names the filter`() throws {
        let reading = try PredicateReader().read(
            #""filterBy":[{"comparator":"EQUALS","fieldName":"a","fieldValue":{"value":1}},{"comparator":"LESS_THAN","fieldName":"a","fieldValue":{"value":1}}]"#
        )
        #expect(reading.warnings.map(\.position) == [.init(path: "filterBy[1]", offset: nil)])
    }

    private static let values = [
        "1", "1.5", "2", "0", "3", "\"a\"", "\"A\"", "\"ab\"", "\"Ab\"", "\"b\"", "\"B\"", "\"\"",
    ]

    @Test(arguments: Seeded.seeds)
    func `no value satisfies a predicate with a contradiction`(seed: UInt64) throws {
        var random = Seeded(seed)
        var contradictions = 0
        for _ in 0..<3000 {
            var clauses: [Clause] = []
            for _ in 0...random.below(4) { clauses.append(Self.clause(&random)) }
            let predicate = RecordPredicate(clauses: clauses)
            guard predicate.contradiction != nil else { continue }
            contradictions += 1
            for value in Self.values {
                try #require(try !predicate.matches(fields(value)), "\(predicate.text) for \(value), seed \(seed)")
            }
        }
        #expect(contradictions > 300, "\(contradictions)")
    }

    private static let lists =
        values.map { "[\($0)]" } + ["[]", "[1,2]", "[1,1.5,2]", "[\"a\",\"A\"]", "[\"ab\",\"B\"]", "[1,\"a\"]"]

    /// Tests the whole predicate, and each side of an OR together with the comparisons outside the OR. If a warning
    /// says that one of these is never true, no value may satisfy it. If a warning says that only empty lists satisfy
    /// it, no other value may do so.
    @Test(arguments: Seeded.seeds)
    func `a predicate or a side of OR with a warning is never true, or only for an empty list`(seed: UInt64) throws {
        var random = Seeded(seed)
        var (never, sided, empty) = (0, 0, 0)
        for _ in 0..<3000 {
            let isList = random.isOneIn(2)
            func conjunction(_ count: Int) -> [Clause] {
                (0..<count).map { _ in isList ? Self.listClause(&random) : Self.clause(&random) }
            }
            let (rest, one, other) = (
                conjunction(random.below(3)), conjunction(1 + random.below(2)), conjunction(1 + random.below(2))
            )
            let sides = [one, other].map { Condition.joined(all: $0.map { .clause($0) }) }
            let condition = Condition.joined(all: rest.map { .clause($0) } + [.joined(any: sides)])
            let warnings = Contradictions.warnings(condition) { .init(path: "", offset: $0) }
            let values = isList ? Self.lists : Self.values
            func holds(_ clauses: [Clause]) throws -> [String] {
                try values.filter { try RecordPredicate(clauses: clauses).matches(fields($0)) }
            }
            for warning in warnings {
                let offset = try #require(warning.position.offset)
                let isOne = offset < rest.count + one.count
                switch warning.code {
                case "predicate.never":
                    never += 1
                    let all = try values.filter { try RecordPredicate(condition).matches(fields($0)) }
                    try #require(all == [], "\(RecordPredicate(condition).text), seed \(seed)")
                case "predicate.never_side":
                    sided += 1
                    try #require(offset >= rest.count)
                    try #require(
                        try holds(rest + (isOne ? one : other)) == [],
                        "\(RecordPredicate(condition).text), seed \(seed)")
                default:
                    empty += 1
                    let found = try holds(offset < rest.count ? rest : rest + (isOne ? one : other))
                    try #require(found.allSatisfy { $0 == "[]" }, "\(RecordPredicate(condition).text), seed \(seed)")
                }
            }
        }
        #expect(never > 200 && sided > 200 && empty > 20, "\(never), \(sided), \(empty), seed \(seed)")
    }

    private static func listClause(_ random: inout Seeded) -> Clause {
        let drawn = clause(&random)
        let comparator: Clause.Comparator? =
            switch drawn.comparator {
            case .equals: random.isOneIn(2) ? .listContains : .every(.equals)
            case .isIn: random.one(of: [.listContainsAny, .listContainsAll, .every(.isIn)])
            case .beginsWith: random.isOneIn(2) ? .listMemberBeginsWith : .every(.beginsWith)
            default: drawn.comparator.test.map { .every($0) }
            }
        return Clause(
            field: "f", comparator ?? drawn.comparator, drawn.values, foldsCase: drawn.foldsCase,
            isNegated: random.isOneIn(3))
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
