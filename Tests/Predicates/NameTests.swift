import CloudKitModel
import JSON
import TestSupport
import Testing

@testable import Predicates

/// A predicate can name a field if and only if a record can have the field.
struct NameTests {
    /// Whether ingest accepts a record with this field.
    private static func isFieldName(_ name: String) throws -> Bool {
        try withJSON(#"{"\#(name)":{"value":1}}"#) { fields in
            do throws(ModelError) { try Fields.check(fields) } catch { return false }
            return true
        }
    }

    private static func accepts(_ read: () throws -> Void) throws -> Bool {
        do { try read() } catch is PredicateError { return false }
        return true
    }

    @Test(arguments: Seeded.seeds)
    func `text, filterBy and %K accept the same names as records`(seed: UInt64) throws {
        var random = Seeded(seed)
        let letters = ["a", "Z", "q", "0", "9", "_", "ü", "-", "é", "x", "🐶"]
        var accepted = 0
        for number in 0..<2000 {
            let length = number % 50 == 0 ? 253 + random.below(5) : 1 + random.below(4)
            let name = (0..<length).map { _ in random.isOneIn(3) ? random.one(of: letters) : "a" }.joined()
            let isName = try Self.isFieldName(name)
            accepted += isName ? 1 : 0
            let reader = PredicateReader()
            let filter = #"[{"comparator":"EQUALS","fieldName":"\#(name)","fieldValue":{"value":1}}]"#
            try #require(try Self.accepts { _ = try RecordPredicate.filter(filter) } == isName, "\(name), seed \(seed)")
            let argument = #""predicate":"%K == 1","arguments":["\#(name)"]"#
            try #require(try Self.accepts { _ = try reader.read(argument) } == isName, "\(name), seed \(seed)")
            for text in ["#\(name) == 1", "\(name) == 1"] {
                try #require(try Self.accepts { _ = try reader.predicate(text) } == isName, "\(text), seed \(seed)")
            }
        }
        #expect((300...1900).contains(accepted))
    }

    @Test(arguments: [
        ("a == 1 AND ünï == 3", 11), ("#_a == 1", 0), ("a == 1 AND NOT ANY 名 IN {1}", 19), ("__a != nil", 0),
        ("5 IN tägs", 5), ("distanceToLocation:fromLocation:(ort_ä, location(1, 2)) < 5", 33),
    ])
    func `a name that no record can have is refused with its position and the rule`(_ text: String, _ offset: Int)
        throws
    {
        let error = try #require(throws: PredicateError.self) { try RecordPredicate(text: text) }
        #expect(error.code == "predicate.syntax" && error.offset == offset)
        #expect(error.reason.contains("letters, digits and '_' with a letter first"), "\(error.reason)")
    }

    @Test func `an error in an argument also has the offset in the text`() throws {
        let query = #""predicate":"a == 1 AND %K == 2","arguments":["größe"]"#
        let error = try #require(throws: PredicateError.self) { try PredicateReader().read(query) }
        #expect(error.code == "predicate.arguments" && error.queryPath == "arguments[0]" && error.offset == 11)
        let reason = try withJSON("{\(query)}") { error.queryReason(in: $0) }
        #expect(reason.hasSuffix("\na == 1 AND %K == 2\n           ^"), "\(reason)")
    }

    @Test(arguments: [
        (#""fieldName":"___createTime""#, "systemFieldName"), (#""systemFieldName":"title""#, "fieldName"),
        (#""fieldName":"größe""#, "a letter first"),
    ])
    func `filterBy refuses a wrong name and says what is right`(_ name: String, _ word: String)
        throws
    {
        let filter = #"[{"comparator":"EQUALS",\#(name),"fieldValue":{"value":1}}]"#
        let error = try #require(throws: PredicateError.self) { try RecordPredicate.filter(filter) }
        #expect(error.reason.contains(word), "\(error)")
    }

    @Test(arguments: ["a == nil", "NULL == a", "NOT a != nil", "a < nil", "a IN {1, nil}"])
    func `a comparison with null other than 'field != nil' is refused with the alternatives`(_ text: String) throws {
        let error = try #require(throws: PredicateError.self) { try RecordPredicate(text: text) }
        #expect(error.reason.contains("!= nil") && error.reason.contains("has_title == 0"), "\(error)")
    }
}
