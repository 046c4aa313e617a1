import Testing

@testable import Predicates

struct ArgumentTests {
    @Test(arguments: [
        ("a == %@", #"["x"]"#, "a == 'x'"), ("%K == %@", #"["a", 1]"#, "a == 1"), ("a == %@", "[true]", "a == 1"),
        ("a == %@", #"[{"value":1.5,"type":"DOUBLE"}]"#, "a == 1.5"), ("a IN %@", "[[1,2]]", "a IN {1, 2}"),
        ("a IN {%@, %@}", "[1, 2]", "a IN {1, 2}"), ("a BETWEEN %@", "[[1,2]]", "a BETWEEN {1, 2}"),
        ("a BETWEEN {%@, 2}", "[1]", "a BETWEEN {1, 2}"), ("%@ IN %K", #"["x", "tags"]"#, "tags CONTAINS 'x'"),
        ("a == %@", #"[{"recordName":"n"}]"#, "a == reference('n')"), ("%@ < a", "[1]", "a > 1"),
        ("recordID == %@", #"[{"value":{"recordName":"n"},"type":"REFERENCE"}]"#, "recordID == 'n'"),
        ("%K > %@", #"["creationDate",{"value":7,"type":"TIMESTAMP"}]"#, "creationDate > 7"),
        ("a == %@", #"[{"value":"QUI=","type":"BYTES"}]"#, "a == bytes('QUI=')"),
        ("self CONTAINS %@", #"["x y"]"#, "self CONTAINS 'x y'"), ("%K != nil", #"["photo"]"#, "photo != nil"),
        (
            "distanceToLocation:fromLocation:(a, %@) < %@", #"[{"latitude":1,"longitude":2},3]"#,
            "distanceToLocation:fromLocation:(a, location(1, 2)) < 3"
        ),
        ("ALL tokenize(%@, 'Cdl') IN allTokens", #"["x y"]"#, "allTokens TOKENMATCHES[cdl] 'x y'"),
        ("ANY tags IN %@", #"[{"value":["x"],"type":"STRING_LIST"}]"#, "ANY tags IN {'x'}"),
        ("d > CAST(%@, 'NSDate')", #"["2026-01-01T00:00:00Z"]"#, "d > 1767225600000"),
        ("a == '%@'", "[]", "a == '%@'"),
    ])
    func `placeholders stand for the arguments, in order`(_ text: String, _ arguments: String, _ same: String) throws {
        let reading = try PredicateReader().read(#""predicate":"\#(text)","arguments":\#(arguments)"#)
        #expect(try reading.predicate == RecordPredicate(text: same))
    }

    @Test(
        arguments: [
            ("a == %@", "[]", "predicate.arguments", "predicate", 5),
            ("a == 1", "[1]", "predicate.arguments", "arguments[0]", nil),
            ("a == %@", "[1, 2]", "predicate.arguments", "arguments[1]", nil),
            ("%K == 1", "[7]", "predicate.arguments", "arguments[0]", 0),
            ("%K == 1", #"["a.b"]"#, "predicate.arguments", "arguments[0]", 0),
            ("a == %@", #"["x","y"]"#, "predicate.arguments", "arguments[1]", nil),
            ("a == %@", "[[1]]", "predicate.type", "predicate", 5),
            ("a IN %@", "[1]", "predicate.type", "predicate", 5),
            ("a == %@", "[null]", "predicate.unsupported", "predicate", 5),
            ("a == %@", #"[{"x":1}]"#, "predicate.type", "arguments[0]", 5),
            ("a == %@", #"[{"value":"1","type":"INT64"}]"#, "predicate.type", "arguments[0].value", 5),
            ("a == %@", #"[{"value":1,"tpye":"INT64"}]"#, "predicate.unknown_key", "arguments[0].tpye", 5),
            ("a BEGINSWITH %@", "[1]", "predicate.type", "predicate", 13),
            ("a == %@", #"{"a":1}"#, "predicate.arguments", "arguments", nil),
            ("a == %@", #"[{"latitude":1,"longitude":2}]"#, "predicate.unsupported", "predicate", 5),
            ("%@ == 1", #"["a"]"#, "predicate.unsupported", "predicate", 6),
        ] as [(String, String, String, String, Int?)])
    func `too few, too many and wrong arguments are refused with the position of the mistake`(
        _ text: String, _ arguments: String, _ code: String, _ path: String, _ offset: Int?
    ) throws {
        let error = try #require(throws: PredicateError.self) {
            try PredicateReader().read(#""predicate":"\#(text)","arguments":\#(arguments)"#)
        }
        #expect(error.code == code && error.queryPath == path && error.offset == offset, "\(error)")
    }

    @Test
    func `predicate with filterBy, arguments without predicate, and wrong types are refused; null counts as missing`()
        throws
    {
        for query in [
            #""arguments":[]"#, #""filterBy":[],"arguments":[1]"#, #""filterBy":[],"predicate":"a == 1""#,
            #""predicate":7"#, #""filterBy":7"#,
        ] {
            #expect(throws: PredicateError.self, "\(query)") { try PredicateReader().read(query) }
        }
        #expect(try PredicateReader().read("").predicate == .always)
        #expect(try PredicateReader().read(#""predicate":null,"filterBy":null"#).predicate == .always)
    }
}
