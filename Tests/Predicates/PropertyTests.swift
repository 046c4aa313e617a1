import TestSupport
import Testing

@testable import Predicates

struct PropertyTests {
    private static let values = [
        "\"a\"", "\"A\"", "\"Ä\"", "\"ä\"", "\"\"", "1", "1.0", "2", "-0.0", "0", "1.5", "9007199254740993",
        "9007199254740992.0", #"{"recordName":"a"}"#,
    ]

    @Test func `what is equal has the same key, whatever the case rule`() throws {
        for given in Self.values {
            for held in Self.values {
                for foldsCase in [false, true] { try check(given, held, foldsCase) }
            }
        }
    }

    private func check(_ given: String, _ held: String, _ foldsCase: Bool) throws {
        let read = try RecordPredicate.filter(
            #"[{"comparator":"EQUALS","fieldName":"f","fieldValue":{"value":\#(given)}}]"#
        ).clauses[0]
        let clause = Clause(field: "f", .equals, read.values, foldsCase: foldsCase)
        try withJSON(#"{"value":\#(held)}"#) { field in
            let view = FieldView(field: field)
            guard clause.holds(for: view) else { return }
            var keys: [EqualityKey] = []
            EqualityKey.forEach(in: view, field: 3) { keys.append($0) }
            #expect(keys == [EqualityKey(clause.values[0], field: 3)], "\(given) and \(held)")
        }
    }

    @Test(arguments: [UInt64(1), 2, 3])
    func `no text of tokens in any order does harm`(seed: UInt64) {
        var random = Seeded(seed)
        let words = [
            "a", "#in", "==", "<", "=>", "IN", "BETWEEN", "BEGINSWITH", "CONTAINS", "ANY", "NOT", "AND", "OR", "(", ")",
            "{", "}", ",", "'x'", "1", "-2.5", "%@", "%K", "nil", "ALL", "recordID", "tokenize", "location", "CAST",
            "'NSDate'", "distanceToLocation", "fromLocation", "TOKENMATCHES", "[n]", "]", "TRUE", "TRUEPREDICATE", "[",
            "%", "\\", "'", "ä", "self", ".", ":",
        ]
        var understood = 0
        for _ in 0..<5000 {
            let text = (0..<Int.random(in: 1...7, using: &random)).map { _ in words.randomElement(using: &random) ?? ""
            }
            .joined(separator: " ")
            do {
                let dialect = random.isOneIn(2) ? PredicateReader.Dialect.cloudKit : .extended
                understood += try PredicateReader(dialect).read(text: text).predicate.clauses.count
            } catch {
                #expect(error.offset.map { (0...text.utf8.count).contains($0) } == true, "\(text)")
                #expect(!error.rendered(in: text).isEmpty)
            }
        }
        #expect(understood > 0, "seed \(seed)")
    }
}

struct LayoutTests {
    @Test func `a value stays two words, for there are millions`() {
        #expect(MemoryLayout<FieldValue>.stride == 16)
        #expect(MemoryLayout<Clause>.stride <= 40)
    }
}
