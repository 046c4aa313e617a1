import TestSupport
import Testing

@testable import Predicates

struct ExtendedTests {
    private let extended = PredicateReader(.extended)

    @Test(arguments: [
        ("f == 1 OR f == 2", "2", "3"), ("f == 1 || f == 2 AND f > 1", "1", "3"), ("NOT (f > 1 AND f < 5)", "1", "2"),
        ("NOT (f == 1 OR f == 2)", "3", "1"), ("NOT f BETWEEN {2, 4}", "5", "3"), ("ALL f > 1", "[2,3]", "[1,2]"),
        ("ALL f == 'A'", "[\"a\"]", "[\"a\",\"b\"]"), ("ALL f IN {1,2}", "[1,2,2]", "[1,3]"),
        ("ALL f != 1", "[2]", "[1,2]"), ("NOT ALL f > 1", "[1,2]", "[2]"), ("ALL f > 1", "[]", "[\"x\"]"),
        ("ALL f BEGINSWITH 'a'", "[\"ab\"]", "[\"ab\",1]"), ("NOT NOT (f == 1 OR f == 2)", "1", "3"),
        ("NOT ALL f != 1", "[1,2]", "[2]"), ("(f == 1 OR f == 2) AND (f == 2 OR f == 3)", "2", "1"),
        ("FALSEPREDICATE OR f == 1", "1", "2"), ("NOT (TRUEPREDICATE AND NOT f == 1)", "1", "2"),
    ])
    func `the extended dialect reads OR, ALL, and NOT before a compound`(
        _ text: String, _ holds: String, _ fails: String
    ) throws {
        let predicate = try extended.predicate(text)
        #expect(try predicate.matches(fields(holds)) && !predicate.matches(fields(fails)))
        #expect(try !predicate.matches(fields(nil)))
        #expect(try extended.predicate(predicate.text) == predicate)
    }

    @Test func `the extended dialect reads CloudKit's predicates in the same way, and refuses other syntax`() throws {
        var random = RandomPredicates(7)
        for _ in 0..<500 {
            let text = random.predicate().text
            #expect(try extended.predicate(text) == RecordPredicate(text: text))
        }
        for text in ["a LIKE 'x'", "NOT self CONTAINS 'x'", "NONE a == 1", "a ==[c] 'x'", "ALL self == 1", "a.b == 1"] {
            #expect(throws: PredicateError.self) { try extended.predicate(text) }
        }
    }

    @Test(arguments: [
        "NOT self CONTAINS 'x'", "NOT ANY tokenize('x', 'Cdl') IN a", "a == 1 OR NOT (b == 1 OR self CONTAINS 'x')",
        "NOT distanceToLocation:fromLocation:(a, location(1, 2)) < 5",
    ])
    func `the error for a refused NOT depends on the dialect`(_ text: String) throws {
        let error = try #require(throws: PredicateError.self) { try extended.predicate(text) }
        #expect(error.code == "predicate.unsupported" && error.reason.contains("is_other == 1"))
        #expect(error.reason.contains("extended predicates accept NOT before"), "\(error.reason)")
        let strict = try #require(throws: PredicateError.self) { try PredicateReader().predicate(text) }
        #expect(!strict.reason.contains("extended"))
    }

    /// Draws an expression. Returns its text, and whether it holds for these values of `a` and `b`.
    private static func draw(_ random: inout Seeded, _ depth: Int, _ a: Int, _ b: Int) -> (text: String, holds: Bool) {
        guard depth > 0 else {
            let (name, value) = random.isOneIn(2) ? ("a", a) : ("b", b)
            let given = random.below(4)
            return random.isOneIn(2) ? ("\(name) < \(given)", value < given) : ("\(name) == \(given)", value == given)
        }
        let (one, other) = (draw(&random, depth - 1, a, b), draw(&random, depth - 1, a, b))
        switch random.below(3) {
        case 0: return ("NOT (\(one.text))", !one.holds)
        case 1: return ("(\(one.text)) AND (\(other.text))", one.holds && other.holds)
        default: return ("(\(one.text) OR \(other.text))", one.holds || other.holds)
        }
    }

    @Test(arguments: Seeded.seeds)
    func `AND, OR and NOT have their logical meaning if no field is missing`(seed: UInt64) throws {
        var random = Seeded(seed)
        var held = 0
        for _ in 0..<1000 {
            let (a, b) = (random.below(4), random.below(4))
            let drawn = Self.draw(&random, random.below(5), a, b)
            let holds = try extended.predicate(drawn.text).matches(#"{"a":{"value":\#(a)},"b":{"value":\#(b)}}"#)
            try #require(holds == drawn.holds, "\(drawn.text) for \(a), \(b), seed \(seed)")
            held += holds ? 1 : 0
        }
        #expect((100...900).contains(held))
    }
}
