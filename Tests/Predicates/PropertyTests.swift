import TestSupport
import Testing

@testable import Predicates

struct PropertyTests {
    @Test(arguments: [UInt64(1), 2, 3])
    func `reading tokens in any order does not crash`(seed: UInt64) {
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
    @Test func `a field value takes 16 bytes, and a clause at most 40`() {
        #expect(MemoryLayout<FieldValue>.stride == 16)
        #expect(MemoryLayout<Clause>.stride <= 40)
    }
}
