import Testing

@testable import Predicates

/// The caller passes the value of `now()`: the recorded time of a change, or the time of a query.
struct NowTests {
    private static let now: Int64 = 1_767_225_600_000

    @Test(arguments: [
        ("f < now()", [-1], [0, 1]), ("f <= now()", [-1, 0], [1]), ("f == now()", [0], [-1, 1]),
        ("now() < f", [1], [-1, 0]), ("f >= NOW()", [0, 1], [-1]), ("f != now()", [-1, 1], [0]),
        ("NOT f > now( )", [-1, 0], [1]), ("f BETWEEN {0, now()}", [-1, 0], [1]),
        ("f > now() AND f < now()", [], [-1, 0, 1]), ("f == 1767225600000 AND f == now()", [0], [-1, 1]),
    ])
    func `now() is the time that the caller passes`(_ text: String, _ holds: [Int64], _ fails: [Int64]) throws {
        for predicate in [try RecordPredicate(text: text), try readBackFromFilter(text)] {
            for offset in holds + fails {
                let matches = try withJSON(fields("\(Self.now + offset)")) { predicate.matches($0, now: Self.now) }
                #expect(matches == holds.contains(offset), "\(offset)")
            }
            #expect(try withJSON(fields("\(Self.now)")) { !predicate.matches($0) }, "no time is known")
            #expect(try withJSON(fields("\"text\"")) { !predicate.matches($0, now: Self.now) })
        }
    }

    /// The same predicate, written as `filterBy` and read back.
    private func readBackFromFilter(_ text: String) throws -> RecordPredicate {
        let predicate = try RecordPredicate(text: text)
        #expect(try RecordPredicate(text: predicate.text) == predicate)
        let filter = try #require(predicate.filterBy)
        let readBack = try RecordPredicate.filter(filter)
        #expect(readBack == predicate)
        return readBack
    }

    @Test func `now() prints as now(), and in filterBy as a TIMESTAMP`() throws {
        let predicate = try RecordPredicate(text: "modificationDate <= now()")
        #expect(predicate.text == "modificationDate <= now()")
        let expected =
            #"[{"comparator":"LESS_THAN_OR_EQUALS","systemFieldName":"modifiedTimestamp","fieldValue":{"value":"now()","#
            + #""type":"TIMESTAMP"}}]"#
        #expect(predicate.filterBy == expected)
        #expect(try RecordPredicate.filter(expected) == predicate)
    }

    @Test func `now() in quotes, and in filterBy with the type STRING, is a string`() throws {
        let filter = #"[{"comparator":"EQUALS","fieldName":"f","fieldValue":{"value":"now()","type":"STRING"}}]"#
        #expect(try RecordPredicate.filter(filter).matches(fields("\"now()\"")))
        #expect(try RecordPredicate(text: "f == 'now()'").matches(fields("\"now()\"")))
    }

    @Test(arguments: [
        #"[{"comparator":"IN","fieldName":"f","fieldValue":{"value":["now()"],"type":"TIMESTAMP_LIST"}}]"#,
        #"[{"comparator":"BEGINS_WITH","fieldName":"f","fieldValue":{"value":"now()","type":"TIMESTAMP"}}]"#,
    ])
    func `filterBy refuses now() in a list and with BEGINS_WITH`(_ filter: String) {
        #expect(throws: PredicateError.self) { try RecordPredicate.filter(filter) }
    }

    @Test func `now() causes no warnings`() throws {
        for text in ["f == 5 AND f == now()", "f > now() AND f < 5", "f IN {1, 2} AND f != now()"] {
            #expect(try PredicateReader().read(text: text).warnings.isEmpty, "\(text)")
        }
    }
}
