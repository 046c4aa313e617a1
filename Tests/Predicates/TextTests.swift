import Testing

@testable import Predicates

struct TextTests {
    @Test(arguments: [
        ("f == 'a'", "\"a\"", "\"b\""), ("f = \"a\"", "\"A\"", "1"), ("f != 'a'", "\"b\"", "\"A\""),
        ("f <> 1", "2", "1"), ("f < 1", "0.5", "1"), ("f <= 1", "1", "1.5"), ("f =< -1", "-1", "0"),
        ("f > 1.5e1", "15.1", "15"), ("f >= 1", "1", "0"), ("f => 1", "2", "0"), ("3 < f", "4", "3"),
        ("'b' == f", "\"B\"", "\"a\""), ("3 >= f", "3", "4"),
        ("f BETWEEN {1, 3}", "3", "4"), ("f between {1,3}", "1", "0"), ("f IN {1, 'x'}", "\"X\"", "2"),
        ("NOT f IN {1, 2}", "3", "2"), ("f CONTAINS 'a'", "[\"b\",\"A\"]", "\"a\""), ("'a' IN f", "[\"a\"]", "[]"),
        ("NOT f CONTAINS 'a'", "[]", "[\"a\"]"), ("ANY f == 2", "[1,2]", "[1]"), ("SOME f = 2", "[2]", "2"),
        ("ANY f IN {1,2}", "[3,2]", "[3]"), ("ANY f BEGINSWITH 'a'", "[\"ab\"]", "[\"Ab\"]"),
        ("NOT ANY f == 2", "[1]", "[1,2]"), ("f BEGINSWITH 'Ha'", "\"Hat\"", "\"hat\""),
        ("NOT f beginswith 'Ha'", "\"hat\"", "\"Hat\""), ("! f == 1", "2", "1"), ("NOT NOT f == 1", "1", "2"),
        ("NOT (f < 1)", "1", "0"), ("NOT f > 1", "1", "\"x\""), ("((f == 1))", "1", "2"),
        ("f > 1 AND f < 3", "2", "3"), ("f > 1 && (f < 3 and f != 2.5)", "2", "2.5"), ("f == TRUE", "1", "0"),
        ("f == no", "0", "1"), ("TRUEPREDICATE AND f == 1", "1", "2"), ("NOT FALSEPREDICATE AND f == 1", "1", "2"),
        ("#f == 1", "1", "2"), ("f == 'it\\'s \\\\ \\n\\t\\\"'", "\"it's \\\\ \\n\\t\\\"\"", "\"its\""),
        ("f == 'ÄÖ'", "\"äÖ\"", "\"ao\""), ("f <= 'B'", "\"b\"", "\"c\""),
        ("f==9007199254740993", "9007199254740993", "9007199254740992"),
    ])
    func `a predicate holds for one value, and fails for another value and for a missing field`(
        _ text: String, _ holds: String, _ fails: String
    ) throws {
        let predicate = try RecordPredicate(text: text)
        #expect(try predicate.matches(fields(holds)))
        #expect(try !predicate.matches(fields(fails)))
        #expect(try !predicate.matches(fields(nil)))
    }

    @Test func `TRUEPREDICATE always holds and FALSEPREDICATE never`() throws {
        #expect(try RecordPredicate(text: "TRUEPREDICATE").matches("{}"))
        #expect(try !RecordPredicate(text: "FALSEPREDICATE").matches("{}"))
        #expect(try !RecordPredicate(text: "NOT (TRUEPREDICATE)").matches("{}"))
        #expect(try !RecordPredicate(text: "FALSEPREDICATE AND TRUEPREDICATE").matches("{}"))
        #expect(try !RecordPredicate(text: "f == 1 AND falsepredicate").matches(fields("1")))
    }

    @Test func `text and filterBy give equal predicates if no value is a string`() throws {
        let text = try RecordPredicate(text: "stars >= 3 AND NOT stars > 5")
        let filter = try RecordPredicate.filter(
            """
            [{"comparator":"GREATER_THAN_OR_EQUALS","fieldName":"stars","fieldValue":{"value":3}},
             {"comparator":"LESS_THAN_OR_EQUALS","fieldName":"stars","fieldValue":{"value":5}}]
            """)
        #expect(text == filter)
    }

    @Test(arguments: [
        ("", "predicate.syntax", 0, "the end of the predicate"),
        ("a == 1 OR b == 2", "predicate.unsupported", 7, "no OR"),
        ("a == 1 || b == 2", "predicate.unsupported", 7, "no OR"),
        ("ALL a == 1", "predicate.unsupported", 0, "CONTAINS"),
        ("a LIKE 'x*'", "predicate.unsupported", 2, "BEGINSWITH"),
        ("a MATCHES 'x'", "predicate.unsupported", 2, "BEGINSWITH"),
        ("a ENDSWITH 'x'", "predicate.unsupported", 2, "BEGINSWITH"),
        ("a ==[c] 'x'", "predicate.unsupported", 4, "[c]"),
        ("a CONTAINS[cd] 'x'", "predicate.unsupported", 10, "[c]"),
        ("NOT (a == 1 AND b == 2)", "predicate.unsupported", 12, "NOT"),
        ("NOT a BETWEEN {1,2}", "predicate.unsupported", 6, "BETWEEN"),
        ("a BETWEEN {1}", "predicate.syntax", 10, "two values"), ("a == b", "predicate.unsupported", 5, "quotes"),
        ("a == nil", "predicate.unsupported", 5, "null"), ("a == %@", "predicate.arguments", 5, "%@"),
        ("a == %d", "predicate.syntax", 5, "%@"), ("NONE a == 1", "predicate.unsupported", 0, "NOT ANY"),
        ("NOT self CONTAINS 'x'", "predicate.unsupported", 9, "words"),
        ("NOT ALL tokenize('x', 'Cdl') IN self", "predicate.unsupported", 4, "words"),
        ("self == 'x'", "predicate.unsupported", 5, "self CONTAINS"),
        ("self CONTAINS 7", "predicate.type", 14, "string"),
        ("distanceToLocation:fromLocation:(a,b) < 1", "predicate.type", 33, "location"),
        ("distanceToLocation:fromLocation:(self, location(1, 2)) < 1", "predicate.type", 33, "field"),
        ("distanceToLocation:fromLocation:(location(1, 2), self) < 1", "predicate.type", 33, "field"),
        ("distanceToLocation:fromLocation:(a, location(52.5, 13.4)) > 1", "predicate.unsupported", 58, "< or <="),
        ("NOT distanceToLocation:fromLocation:(a, location(1, 2)) < 1", "predicate.unsupported", 4, "NOT"),
        ("distanceToLocation:fromLocation:(a, location(91, 2)) < 1", "predicate.type", 44, "latitude"),
        ("distanceToLocation:fromLocation:(a, location(1, 2)) < -1", "predicate.type", 54, "metres"),
        ("distanceToLocation:fromLocation:(a, location(1, 2)) < 'x'", "predicate.type", 54, "number"),
        ("recordName BEGINSWITH 'x'", "predicate.type", 22, "recordName (recordID)"),
        ("f IN {now(), 1}", "predicate.type", 5, "now() cannot be in a list"),
        ("f == now(1)", "predicate.syntax", 9, "')'"),
        ("creationDate > 'today'", "predicate.type", 15, "CAST("),
        ("creationDate > CAST('today', 'NSDate')", "predicate.type", 20, "RFC 3339"),
        ("creationDate > CAST(1, 'NSNumber')", "predicate.unsupported", 23, "NSDate"),
        ("recordID < 'x'", "predicate.type", 11, "=="), ("recordID CONTAINS 'x'", "predicate.type", 18, "not a list"),
        ("recordChangeTag == 7", "predicate.type", 19, "string"),
        ("a < reference('x')", "predicate.type", 4, "no order"),
        ("a == location(1, 2)", "predicate.unsupported", 5, "distance"),
        ("a == bytes('x')", "predicate.type", 10, "base64"), ("NOT a != nil", "predicate.unsupported", 9, "null"),
        ("BLOCKPREDICATE(0x600000)", "predicate.unsupported", 14, "blocks"),
        ("SUBQUERY(a, $x, $x == 1).@count > 0", "predicate.unsupported", 8, "subqueries"),
        ("FUNCTION(a, 'f') == 1", "predicate.unsupported", 8, "no such function"),
        ("a + 1 == 2", "predicate.syntax", 2, "'+'"), ("a == {1}", "predicate.syntax", 5, "a string or a number"),
        ("a.b == 1", "predicate.unsupported", 1, "key paths"), ("a == 'x", "predicate.syntax", 5, "no end"),
        ("a == 'x\\q'", "predicate.syntax", 7, "escape"),
        ("a == 99999999999999999999", "predicate.syntax", 5, "64 bits"),
        ("a == 1e999", "predicate.syntax", 5, "too large"), ("a == 1x", "predicate.syntax", 5, "number"),
        ("a == 1 b == 2", "predicate.syntax", 7, "AND"), ("(a == 1", "predicate.syntax", 7, "')'"),
        ("a NOT IN {1}", "predicate.unsupported", 2, "NOT field IN"), ("a IN 1", "predicate.syntax", 5, "'{'"),
        ("a IN {1 2}", "predicate.syntax", 8, "','"), ("a BEGINSWITH 1", "predicate.type", 13, "strings"),
        ("in == 1", "predicate.syntax", 0, "#in"), ("ANY a < 1", "predicate.unsupported", 6, "after ANY"),
        ("'x' BEGINSWITH a", "predicate.unsupported", 4, "the field"), ("1 IN {1}", "predicate.syntax", 5, "a field"),
        ("a == 1 @", "predicate.syntax", 7, "'@'"), ("a $ 1", "predicate.syntax", 2, "'$'"),
    ])
    func `an error in a text has the byte offset and the reason`(
        _ text: String, _ code: String, _ offset: Int, _ word: String
    ) throws {
        let error = try #require(throws: PredicateError.self) { try RecordPredicate(text: text) }
        #expect(error.code == code)
        #expect(error.offset == offset)
        #expect(error.reason.contains(word), "\(error.reason)")
    }

    @Test func `an error shows its position in the text`() throws {
        let text = "a == 'ä' AND\n\tb LIKE 'x'"
        let error = try #require(throws: PredicateError.self) { try RecordPredicate(text: text) }
        #expect(error.rendered(in: text) == " b LIKE 'x'\n   ^ \(error.reason)")
        let long = "a == '" + String(repeating: "ä", count: 100) + "' LIKE"
        let far = try #require(throws: PredicateError.self) { try RecordPredicate(text: long) }
        #expect(far.rendered(in: long).hasPrefix(String(repeating: "ä", count: 29) + "' LIKE\n"))
    }
}

struct TextLimitTests {
    private func code(_ text: String) throws -> String {
        try #require(throws: PredicateError.self) { try RecordPredicate(text: text) }.code
    }

    @Test func `a text at a limit is accepted and a text just beyond it is refused, and NOT has no limit`() throws {
        let depth = { String(repeating: "(", count: $0) + "a==1" + String(repeating: ")", count: $0) }
        #expect(throws: Never.self) { try RecordPredicate(text: depth(128)) }
        #expect(try code(depth(129)) == "predicate.limit")
        let negated = { String(repeating: "NOT ", count: $0) + "a==1" }
        #expect(try RecordPredicate(text: negated(20_000)) == RecordPredicate(text: "a == 1"))
        #expect(try RecordPredicate(text: negated(20_001)) == RecordPredicate(text: "a != 1"))
        #expect(try RecordPredicate(text: String(repeating: "!", count: 100_001) + "a<1").text == "a >= 1")
        let clauses = { Array(repeating: "a==1", count: $0).joined(separator: "&&") }
        #expect(try RecordPredicate(text: clauses(10_000)).clauses.count == 10_000)
        #expect(try code(clauses(10_001)) == "predicate.limit")
        let list = { "a IN {" + Array(repeating: "1", count: $0).joined(separator: ",") + "}" }
        #expect(throws: Never.self) { try RecordPredicate(text: list(1000)) }
        #expect(try code(list(1001)) == "predicate.limit")
        let padded = { "a==1" + String(repeating: " ", count: $0 - 4) }
        #expect(throws: Never.self) { try RecordPredicate(text: padded(100 << 10)) }
        #expect(try code(padded(100 << 10 + 1)) == "predicate.limit")
    }
}
