import Testing

@testable import Predicates

struct FilterByTests {
    struct Case: CustomTestStringConvertible {
        let comparator: String
        let value: String
        let holds: [String?]
        let fails: [String?]

        var testDescription: String { "\(comparator) \(value)" }
    }

    static let cases = [
        Case(
            comparator: "EQUALS", value: "\"a\"", holds: ["\"a\"", "\"\\u0061\""],
            fails: ["\"A\"", "\"ab\"", "1", "[\"a\"]", nil]),
        Case(comparator: "NOT_EQUALS", value: "\"a\"", holds: ["\"A\"", "\"\""], fails: ["\"a\"", "1", "null", nil]),
        Case(
            comparator: "LESS_THAN", value: "5", holds: ["4", "4.99", "-1e300"], fails: ["5", "5.0", "6", "\"4\"", nil]),
        Case(comparator: "LESS_THAN_OR_EQUALS", value: "5", holds: ["5", "5.0", "4"], fails: ["5.01", "6", nil]),
        Case(
            comparator: "GREATER_THAN", value: "\"m\"", holds: ["\"n\"", "\"ma\"", "\"é\""],
            fails: ["\"m\"", "\"M\"", "9", nil]),
        Case(comparator: "GREATER_THAN_OR_EQUALS", value: "1.5", holds: ["1.5", "2"], fails: ["1", "1.49", nil]),
        Case(comparator: "IN", value: "[1,2]", holds: ["1", "2.0"], fails: ["3", "\"1\"", "[1]", nil]),
        Case(comparator: "IN", value: "[]", holds: [], fails: ["1", nil]),
        Case(comparator: "NOT_IN", value: "[1,2]", holds: ["3"], fails: ["1", "\"1\"", "[3]", nil]),
        Case(
            comparator: "BEGINS_WITH", value: "\"Ha\"", holds: ["\"Ha\"", "\"Hat\""],
            fails: ["\"hat\"", "\"H\"", "1", nil]),
        Case(
            comparator: "NOT_BEGINS_WITH", value: "\"Ha\"", holds: ["\"hat\"", "\"\""], fails: ["\"Hat\"", "1", nil]),
        Case(
            comparator: "LIST_CONTAINS", value: "\"a\"", holds: ["[\"b\",\"a\"]"],
            fails: ["[]", "[\"b\"]", "\"a\"", nil]),
        Case(
            comparator: "NOT_LIST_CONTAINS", value: "\"a\"", holds: ["[]", "[\"b\"]"],
            fails: ["[\"a\"]", "[1]", "\"b\"", nil]),
        Case(comparator: "LIST_CONTAINS_ANY", value: "[1,2]", holds: ["[2,9]"], fails: ["[]", "[3]", "2", nil]),
        Case(comparator: "NOT_LIST_CONTAINS_ANY", value: "[1,2]", holds: ["[]", "[3]"], fails: ["[3,1]", nil]),
        Case(comparator: "LIST_CONTAINS_ALL", value: "[1,2]", holds: ["[2,9,1]"], fails: ["[]", "[1]", nil]),
        Case(
            comparator: "NOT_LIST_CONTAINS_ALL", value: "[1,2]", holds: ["[]", "[1]"], fails: ["[2,1]", "[\"a\"]", nil]),
        Case(
            comparator: "LIST_MEMBER_BEGINS_WITH", value: "\"a\"", holds: ["[\"b\",\"ab\"]"],
            fails: ["[]", "[\"b\"]", "\"ab\"", nil]),
        Case(
            comparator: "NOT_LIST_MEMBER_BEGINS_WITH", value: "\"a\"", holds: ["[]", "[\"b\"]"],
            fails: ["[\"ab\"]", nil]),
        Case(
            comparator: "EQUALS", value: #"{"recordName":"n1","action":"NONE"}"#,
            holds: [#"{"recordName":"n1","zoneID":{"zoneName":"z"},"action":"DELETE_SELF"}"#],
            fails: [#"{"recordName":"n2"}"#, "\"n1\"", "{}", nil]),
    ]

    @Test(arguments: cases)
    func `a comparator holds for some fields and fails for others`(_ test: Case) throws {
        let predicate = try RecordPredicate.filter(
            #"[{"comparator":"\#(test.comparator)","fieldName":"f","fieldValue":{"value":\#(test.value)}}]"#)
        for value in test.holds { #expect(try predicate.matches(fields(value)), "\(value ?? "missing")") }
        for value in test.fails { #expect(try !predicate.matches(fields(value)), "\(value ?? "missing")") }
    }

    @Test(arguments: [
        ("9007199254740993", "9007199254740993", true), ("9007199254740993", "9007199254740992", false),
        ("9007199254740993", "9007199254740992.0", false), ("9007199254740992", "9007199254740992.0", true),
        ("9223372036854775807", "9223372036854775808", false), ("0", "-0.0", true),
    ])
    func `numbers are equal if and only if their exact values are equal`(
        _ given: String, _ field: String, _ equal: Bool
    ) throws {
        let predicate = try RecordPredicate.filter(
            #"[{"comparator":"EQUALS","fieldName":"f","fieldValue":{"value":\#(given)}}]"#)
        #expect(try predicate.matches(fields(field)) == equal)
        let mirrored = try RecordPredicate.filter(
            #"[{"comparator":"EQUALS","fieldName":"f","fieldValue":{"value":\#(field)}}]"#)
        #expect(try mirrored.matches(fields(given)) == equal)
    }

    @Test func `bytes are ordered as bytes, not as base64`() throws {
        // 0x00, 0x01, 0x41, 0x41 0x00, 0x41 0x42, 0x69, 0xfb 0xff
        let ordered = ["AA==", "AQ==", "QQ==", "QQA=", "QUI=", "aQ==", "+/8="]
        for (index, given) in ordered.enumerated() {
            let predicate = try RecordPredicate.filter(
                #"[{"comparator":"LESS_THAN","fieldName":"f","fieldValue":{"value":"\#(given)","type":"BYTES"}}]"#)
            for (other, held) in ordered.enumerated() {
                #expect(try predicate.matches(fields("\"\(held)\"")) == (other < index), "\(held) < \(given)")
            }
        }
        let exact = try RecordPredicate(text: "f == bytes('QUI=')")
        #expect(try !exact.matches(fields("\"QUI\"")))
        #expect(try exact.matches(fields("\"QUI=\"")) && !exact.matches(fields("\"qui=\"")))
    }

    @Test func `strings are compared by bytes, not by canonical equivalence`() throws {
        let predicate = try RecordPredicate.filter(
            #"[{"comparator":"EQUALS","fieldName":"f","fieldValue":{"value":"\u00e9"}}]"#)
        #expect(try predicate.matches(fields(#""\u00e9""#)))
        #expect(try !predicate.matches(fields(#""e\u0301""#)))
    }

    @Test func `all filters must hold, and an empty filterBy matches`() throws {
        let predicate = try RecordPredicate.filter(
            """
            [{"comparator":"GREATER_THAN","fieldName":"a","fieldValue":{"value":1,"type":"INT64"}},
             {"comparator":"EQUALS","fieldName":"b","fieldValue":{"value":"x","type":"STRING"}}]
            """)
        #expect(try predicate.matches(#"{"a":{"value":2},"b":{"value":"x"}}"#))
        #expect(try !predicate.matches(#"{"a":{"value":1},"b":{"value":"x"}}"#))
        #expect(try RecordPredicate.filter("[]").matches("{}"))
        #expect(RecordPredicate.always.matches(nil))
    }

    @Test(arguments: [
        ("{}", "predicate.type", "filterBy"),
        ("[7]", "predicate.type", "filterBy[0]"),
        (#"[{"fieldName":"f"}]"#, "predicate.missing", "filterBy[0].comparator"),
        (#"[{"comparator":"LIKE"}]"#, "predicate.unsupported", "filterBy[0].comparator"),
        (#"[{"comparator":"EQUALS"}]"#, "predicate.missing", "filterBy[0].fieldName"),
        (
            #"[{"comparator":"EQUALS","systemFieldName":"recordType"}]"#, "predicate.unsupported",
            "filterBy[0].systemFieldName"
        ),
        (#"[{"comparator":"EQUALS","fieldName":"f"}]"#, "predicate.missing", "filterBy[0].fieldValue"),
        (
            #"[{"comparator":"EQUALS","fieldName":"f","fieldValue":{"value":[1]}}]"#, "predicate.type",
            "filterBy[0].fieldValue.value"
        ),
        (
            #"[{"comparator":"EQUALS","fieldName":"f","fieldValue":{"value":null}}]"#, "predicate.type",
            "filterBy[0].fieldValue.value"
        ),
        (
            #"[{"comparator":"IN","fieldName":"f","fieldValue":{"value":1}}]"#, "predicate.type",
            "filterBy[0].fieldValue.value"
        ),
        (
            #"[{"comparator":"EQUALS","fieldName":"f","fieldValue":{"value":"1","type":"INT64"}}]"#, "predicate.type",
            "filterBy[0].fieldValue.value"
        ),
        (
            #"[{"comparator":"EQUALS","fieldName":"f","fieldValue":{"value":1,"type":"NUMBER"}}]"#, "predicate.type",
            "filterBy[0].fieldValue.type"
        ),
        (
            #"[{"comparator":"BEGINS_WITH","fieldName":"f","fieldValue":{"value":1}}]"#, "predicate.type",
            "filterBy[0].fieldValue.value"
        ),
        (
            #"[{"comparator":"LESS_THAN","fieldName":"f","fieldValue":{"value":{"recordName":"n"}}}]"#,
            "predicate.type",
            "filterBy[0].fieldValue.value"
        ),
    ])
    func `an error in a filter has the path of the mistake`(_ filterBy: String, _ code: String, _ path: String) throws {
        let error = try #require(throws: PredicateError.self) { try RecordPredicate.filter(filterBy) }
        #expect(error.code == code)
        #expect(error.path == path)
    }

    @Test func `too many filters or values are refused`() throws {
        let filter =
            #"{"comparator":"IN","fieldName":"f","fieldValue":{"value":[\#(Array(repeating: "1", count: 1001).joined(separator: ","))]}}"#
        let values = try #require(throws: PredicateError.self) { try RecordPredicate.filter("[\(filter)]") }
        #expect(values.code == "predicate.limit")
        let many = Array(repeating: "0", count: 10_001).joined(separator: ",")
        let filters = try #require(throws: PredicateError.self) { try RecordPredicate.filter("[\(many)]") }
        #expect(filters.code == "predicate.limit")
    }
}
