import JSON
import TestSupport

@testable import RecordStore

/// Makes random records with fields of many types, and random queries for these records.
struct RandomQueries {
    var random: Seeded

    static let fields = ["a", "b", "c", "list"]
    private static let long = String(repeating: "long ", count: 60)
    private static let numbers = [
        "0", "-0.0", "1", "1.0", "2", "-3", "2.5", "1e300", "-1e300", "9007199254740992", "9007199254740993",
        "9007199254740992.0", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
    ]
    private static let texts = [
        "", "a", "A", "ab", "abc", "b", "ä", "the cat", "Cat dog", long, long + "a", long + "b",
    ]
    private static let base64 = ["", "QQ==", "QUI=", "QUJD", "+/+/"]

    init(_ seed: UInt64) { random = Seeded(seed) }

    // MARK: Records

    mutating func line(_ names: [String]) -> String {
        let (name, zone) = (random.one(of: names), random.one(of: [nil, "Z1", "Z2"]))
        if random.isOneIn(6) { return Line.delete(name, zone: zone) }
        let origin = random.isOneIn(2) ? #","origin":{"user":"\#(random.one(of: ["_bob", "_carol"]))"}"# : ""
        return Line.save(name, fieldsText(), type: random.isOneIn(8) ? "Other" : "Note", zone: zone, more: origin)
    }

    private mutating func fieldsText() -> String {
        var members: [String] = []
        for name in Self.fields where !random.isOneIn(4) {
            members.append(#""\#(name)":\#(name == "list" ? list() : field())"#)
        }
        return "{\(members.joined(separator: ","))}"
    }

    private mutating func field() -> String {
        switch random.below(12) {
        case 0..<4: return #"{"value":\#(random.one(of: Self.numbers))}"#
        case 4..<7: return #"{"value":\#(text()),"type":"STRING"}"#
        case 7: return #"{"value":\#(text())}"#
        case 8: return #"{"value":"\#(random.one(of: Self.base64))","type":"BYTES"}"#
        case 9: return #"{"value":\#(reference())}"#
        case 10: return #"{"value":{"latitude":\#(random.below(90)),"longitude":\#(random.below(180))}}"#
        default: return #"{"value":{"fileChecksum":"x"},"type":"ASSETID"}"#
        }
    }

    private mutating func list() -> String {
        let hasNumbers = random.isOneIn(2)
        let elements = (0..<random.below(4)).map { _ in hasNumbers ? number() : text() }
        return #"{"value":[\#(elements.joined(separator: ","))]}"#
    }

    private mutating func number() -> String { random.one(of: Self.numbers) }
    private mutating func text() -> String { #""\#(random.one(of: Self.texts))""# }
    private mutating func reference() -> String { #"{"recordName":"\#(random.one(of: ["a", "b"]))","action":"NONE"}"# }

    // MARK: Queries

    mutating func query() -> String {
        let filters = (0..<random.below(3)).map { _ in random.isOneIn(5) ? systemFilter() : filter() }
        let sorts = (0..<random.below(3)).map { _ in sort() }
        var members = [#""recordType":"Note""#]
        if !filters.isEmpty { members.append(#""filterBy":[\#(filters.joined(separator: ","))]"#) }
        if !sorts.isEmpty { members.append(#""sortBy":[\#(sorts.joined(separator: ","))]"#) }
        return "{\(members.joined(separator: ","))}"
    }

    /// A filter with one of the 21 comparators.
    private mutating func filter() -> String {
        let name = random.one(of: Self.fields)
        switch random.below(12) {
        case 0..<4:
            let comparator = random.one(
                of: [
                    "EQUALS", "NOT_EQUALS", "LESS_THAN", "LESS_THAN_OR_EQUALS", "GREATER_THAN",
                    "GREATER_THAN_OR_EQUALS",
                ])
            return filter(comparator, name, random.isOneIn(2) ? number() : text())
        case 4: return filter(random.one(of: ["EQUALS", "NOT_EQUALS"]), name, reference())
        case 5:
            let comparator = random.one(of: ["EQUALS", "LESS_THAN", "GREATER_THAN"])
            return filter(comparator, name, "\"\(random.one(of: Self.base64))\"", #","type":"BYTES""#)
        case 6: return filter(random.one(of: ["BEGINS_WITH", "NOT_BEGINS_WITH"]), name, text())
        case 7: return filter(random.one(of: ["IN", "NOT_IN"]), name, "[\(number()),\(text()),\(text())]")
        case 8:
            let near = #"{"latitude":45,"longitude":90}"#
            return filter("NEAR", name, near, after: #","distance":4000000"#)
        case 9:
            return filter(random.one(of: ["CONTAINS_ALL_TOKENS", "CONTAINS_ANY_TOKENS"]), name, #""cat dog""#)
        case 10: return listFilter()
        default: return #"{"comparator":"NOT_EQUALS","fieldName":"\#(name)","fieldValue":{"value":null}}"#
        }
    }

    private mutating func listFilter() -> String {
        let one = ["LIST_CONTAINS", "LIST_MEMBER_BEGINS_WITH"]
        let many = ["LIST_CONTAINS_ANY", "LIST_CONTAINS_ALL"]
        let not = random.isOneIn(2) ? "NOT_" : ""
        return random.isOneIn(2)
            ? filter(not + random.one(of: one), "list", text())
            : filter(not + random.one(of: many), "list", "[\(text()),\(text())]")
    }

    private func filter(
        _ comparator: String, _ name: String, _ value: String, _ type: String = "", after: String = ""
    ) -> String {
        #"{"comparator":"\#(comparator)","fieldName":"\#(name)","fieldValue":{"value":\#(value)\#(type)}\#(after)}"#
    }

    private mutating func systemFilter() -> String {
        switch random.below(4) {
        case 0: return system("EQUALS", "recordName", #""r\#(random.below(9))""#)
        case 1: return system(random.one(of: ["EQUALS", "NOT_EQUALS"]), "createdUserRecordName", "\"_bob\"")
        case 2:
            let field = random.one(of: ["createdTimestamp", "___modTime"])
            return system(random.one(of: ["LESS_THAN", "GREATER_THAN_OR_EQUALS"]), field, "\(random.below(40))")
        default: return system("EQUALS", "recordChangeTag", "\"\(String(random.below(60), radix: 36))\"")
        }
    }

    private func system(_ comparator: String, _ name: String, _ value: String) -> String {
        #"{"comparator":"\#(comparator)","systemFieldName":"\#(name)","fieldValue":{"value":\#(value)}}"#
    }

    private mutating func sort() -> String {
        let ascending = random.one(of: ["", #","ascending":true"#, #","ascending":false"#])
        switch random.below(8) {
        case 0:
            return #"{"fieldName":"a","relativeLocation":{"value":{"latitude":0,"longitude":0}}\#(ascending)}"#
        case 1:
            let name = random.one(of: ["___recordID", "___createTime", "___modTime"])
            return #"{"fieldName":"\#(name)"\#(ascending)}"#
        case 2:
            let name = random.one(of: ["___createdBy", "___modifiedBy", "createdTimestamp", "recordName"])
            return #"{"systemFieldName":"\#(name)"\#(ascending)}"#
        default: return #"{"fieldName":"\#(random.one(of: Self.fields))"\#(ascending)}"#
        }
    }
}
