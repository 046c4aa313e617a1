import Testing

@testable import Predicates

/// Comparisons of lists, and comparisons of different types, as in the table "Types decide before values" of the page
/// Subscriptions.
struct ListTests {
    private static func field(_ value: String, _ type: String) -> String {
        #"{"f":{"value":\#(value),"type":"\#(type)"}}"#
    }

    @Test(arguments: [
        "STRING_LIST", "INT64_LIST", "DOUBLE_LIST", "TIMESTAMP_LIST", "REFERENCE_LIST", "BYTES_LIST", "UNKNOWN_LIST",
    ])
    func `an empty list fits any type, contains no value, and satisfies ALL`(_ type: String) throws {
        let empty = Self.field("[]", type)
        for value in ["'x'", "1", "reference('r')", "bytes('QUI=')"] {
            for text in [
                "NOT f CONTAINS \(value)", "NOT ANY f IN {\(value)}", "NOT f CONTAINS ALL {\(value)}",
                "ALL f == \(value)",
                "ALL f != \(value)", "ALL f IN {\(value)}", "f != nil",
            ] {
                #expect(try PredicateReader(.extended).predicate(text).matches(empty), "\(text)")
            }
            for text in [
                "f CONTAINS \(value)", "ANY f IN {\(value)}", "f CONTAINS ALL {\(value)}", "NOT ALL f == \(value)",
                "f == \(value)", "f != \(value)", "NOT f IN {\(value)}",
            ] {
                #expect(try !PredicateReader(.extended).predicate(text).matches(empty), "\(text)")
            }
        }
    }

    @Test(arguments: [
        // No comparison of two types holds, negated or not.
        ("f == 1", "'x'"), ("f != 1", "'x'"), ("f < 1", "'x'"), ("f BEGINSWITH 'x'", "1"),
        ("NOT f BEGINSWITH 'x'", "1"),
        ("NOT f IN {1}", "'x'"), ("f == 'x'", "['x']"), ("f != 'x'", "['y']"), ("f CONTAINS 'x'", "'x'"),
        ("NOT f CONTAINS 'x'", "'y'"), ("NOT f CONTAINS 'x'", "[1]"), ("NOT ANY f IN {'x'}", "[1]"),
        ("NOT f CONTAINS ALL {'x', 1}", "[2]"), ("NOT f CONTAINS ALL {1, 'x'}", "[2]"), ("NOT ALL f == 'x'", "[1]"),
        ("NOT f IN {}", "[1]"), ("NOT f == 1", "reference"), ("NOT f IN {}", "place"), ("NOT f CONTAINS 1", "[true]"),
        ("f == 1", "true"), ("NOT f == 1", "null"),
    ])
    func `no comparison of different types holds`(_ text: String, _ value: String) throws {
        #expect(try !Self.predicate(text).matches(fields(Self.json(value))))
    }

    @Test(arguments: [
        ("NOT f IN {1, 'x'}", "'y'"), ("f IN {1, 'x'}", "'X'"), ("NOT f IN {}", "1"), ("NOT f IN {}", "reference"),
        ("NOT ANY f IN {1, 'x'}", "['y']"), ("NOT f CONTAINS 1", "[2,'x']"), ("ANY f BEGINSWITH 'x'", "[1,'xy']"),
        ("NOT f CONTAINS ALL {1, 'x'}", "[2,'x']"), ("NOT f CONTAINS ALL {'x', 1}", "[2,'x']"),
        ("f CONTAINS ALL {}", "[1]"), ("f CONTAINS ALL {}", "[]"),
        // If only some elements have another type, ALL is false and NOT ALL is true.
        ("NOT ALL f == 'x'", "['x',1]"),
    ])
    func `a comparison can hold although some values have another type, or no values are given`(
        _ text: String, _ value: String
    ) throws {
        #expect(try Self.predicate(text).matches(fields(Self.json(value))))
    }

    private static func predicate(_ text: String) throws -> RecordPredicate {
        try PredicateReader(.extended).predicate(text)
    }

    private static func json(_ value: String) -> String {
        switch value {
        case "reference": #"{"recordName":"r"}"#
        case "place": #"{"latitude":1,"longitude":2}"#
        default: value.replacing("'", with: "\"")
        }
    }
}
