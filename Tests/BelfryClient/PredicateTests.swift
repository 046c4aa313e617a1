import Testing

@testable import BelfryClient

@Suite struct `A predicate made from text` {
    @Test(arguments: [
        ("stars > %d AND a == %ld", "stars > %@ AND a == %@"), ("a == %lld AND b == %lu", "a == %@ AND b == %@"),
        ("a > %f", "a > %@"), ("%K == %@", "%K == %@"), ("a == '%d' AND b == \"%i\"", "a == '%d' AND b == \"%i\""),
        (#"a == 'it\'s %d' AND b == %i"#, #"a == 'it\'s %d' AND b == %@"#),
    ])
    func `replaces C's placeholders for numbers by %@`(format: String, text: String) {
        #expect(PredicateSource(NSPredicate(format: format, argumentArray: nil))?.text == text)
    }

    @Test func `each kind of argument is written as JSON`() {
        let id = CKRecord.ID(recordName: "n")
        let arguments: [(Any, String)] = [
            ("a\"b", #""a\"b""#), (3, "3"), (UInt8(4), "4"), (-2.5, "-2.5"), (Float(0.5), "0.5"), (true, "1"),
            (NSNumber(value: 7), "7"), (NSNumber(value: 7.25), "7.25"), (NSNull(), "null"),
            (Date(timeIntervalSince1970: 1.5), #"{"value":1500,"type":"TIMESTAMP"}"#),
            (Data([255]), #"{"value":"/w==","type":"BYTES"}"#),
            (id, #"{"recordName":"n","zoneID":{"zoneName":"_defaultZone"},"action":"NONE"}"#),
            (
                CKReference(recordID: id, action: .deleteSelf),
                #"{"recordName":"n","zoneID":{"zoneName":"_defaultZone"},"action":"DELETE_SELF"}"#
            ),
            (CLLocation(latitude: 1, longitude: 2.5), #"{"latitude":1.0,"longitude":2.5}"#),
            ([1, 2], "[1,2]"), (["a", "b"], #"["a","b"]"#), ([Date(timeIntervalSince1970: 2)], "[2000]"),
            ([Data([255]), Data()], #"{"value":["/w==",""],"type":"BYTES_LIST"}"#), (UInt64(7), "7"),
            (NSNumber(value: -1), "-1"), (NSNumber(value: Int64.min), "-9223372036854775808"),
        ]
        for (argument, text) in arguments { #expect(PredicateArgument(argument) == .json(text), "\(argument)") }
    }

    @Test(arguments: [UInt64.max, UInt64(Int64.max) + 1])
    func `a number that does not fit into Int64 is refused`(number: UInt64) {
        let refusal = PredicateArgument.refused("is \(number): use a number that fits into Int64")
        #expect(PredicateArgument(number) == refusal)
        #expect(PredicateArgument(NSNumber(value: number)) == refusal)
    }

    @Test func `is evaluated against field values`() {
        let predicate = NSPredicate(format: "title BEGINSWITH %@ AND stars > %d", "H", 3)
        #expect(predicate.evaluate(with: ["title": "Hello", "stars": 4] as [String: Any]))
        #expect(!predicate.evaluate(with: ["title": "Hello", "stars": 3] as [String: Any]))
        #expect(!predicate.evaluate(with: ["title": "Hello"]))
        #expect(!predicate.evaluate(with: "Hello"))
        #expect(!NSPredicate(format: "title ==").evaluate(with: ["title": ""]))
        let near = NSPredicate(
            format: "distanceToLocation:fromLocation:(place, %@) < 1000", CLLocation(latitude: 48, longitude: 16))
        #expect(near.evaluate(with: ["place": CLLocation(latitude: 48.001, longitude: 16)]))
        #expect(!near.evaluate(with: ["place": CLLocation(latitude: 48.1, longitude: 16)]))
    }

    @Test func `is joined with other predicates`() {
        let (a, b) = (NSPredicate(format: "a == %@", 1), NSPredicate(format: "b == %@", 2))
        let both = NSCompoundPredicate(andPredicateWithSubpredicates: [
            a, NSCompoundPredicate(notPredicateWithSubpredicate: b),
        ])
        #expect(PredicateSource(both)?.text == "(a == %@) AND (NOT (b == %@))")
        #expect(PredicateSource(both)?.arguments == [.json("1"), .json("2")])
        let block = NSCompoundPredicate(andPredicateWithSubpredicates: [a, NSPredicate { _, _ in true }])
        #expect(PredicateSource(block) == nil)
    }
}
