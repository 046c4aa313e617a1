import TestSupport
import Testing

@testable import Predicates

/// Comparisons with so many values that they are sorted.
struct ManyValuesTests {
    private static let comparators = [Clause.Comparator.isIn, .listContainsAny, .listContainsAll, .every(.isIn)]

    /// A clause with all values, and its parts: clauses that each have some of these values, too few to be sorted.
    private struct Split {
        let whole: Clause
        let parts: [Clause]

        init(_ comparator: Clause.Comparator, _ values: [FieldValue], foldsCase: Bool) {
            whole = Clause(field: "f", comparator, values, foldsCase: foldsCase)
            parts = stride(from: 0, to: values.count, by: SortedValues.countMin - 1).map {
                Clause(
                    field: "f", comparator, Array(values[$0..<min($0 + SortedValues.countMin - 1, values.count)]),
                    foldsCase: foldsCase)
            }
        }

        /// The outcome of the comparison with all values, computed from the outcomes of the parts.
        func expected(_ view: FieldView) -> Bool? {
            let outcomes = parts.map { $0.compare(view) }
            if whole.comparator == .listContainsAll { return outcomes.contains(nil) ? nil : !outcomes.contains(false) }
            return outcomes.contains(true) ? true : outcomes.contains(false) ? false : nil
        }
    }

    @Test(arguments: Seeded.seeds)
    func `a comparison with many values has the outcome of several comparisons with few values`(seed: UInt64) throws {
        var random = RandomValues(seed)
        var outcomes: [Clause.Comparator: Set<Bool?>] = [:]
        for _ in 0..<3_000 {
            let comparator = random.random.one(of: Self.comparators.filter { $0 != .every(.isIn) })
            let split = Split(comparator, random.values(), foldsCase: random.random.isOneIn(2))
            #expect(split.whole.sortedValues != nil && split.parts.allSatisfy { $0.sortedValues == nil })
            let field = comparator == .isIn ? random.element() : random.list(of: split.whole.values)
            try withJSON(field) {
                let view = FieldView(value: $0)
                let expected = split.expected(view)
                #expect(split.whole.compare(view) == expected, "\(comparator) \(split.whole.values) of \(field)")
                outcomes[comparator, default: []].insert(expected)
            }
        }
        #expect(outcomes.values.allSatisfy { $0 == [true, false, nil] }, "seed \(seed): \(outcomes)")
    }

    @Test(arguments: Seeded.seeds)
    func `if a field's type allows only some of many values, the field is compared with these`(seed: UInt64) throws {
        var random = RandomValues(seed)
        for _ in 0..<2_000 {
            let comparator = random.random.one(of: Self.comparators)
            let values = random.values()
            let clause = Clause(field: "f", comparator, values, foldsCase: random.random.isOneIn(2))
            let isBytes = random.random.isOneIn(2)
            let type = (isBytes ? "BYTES" : "STRING") + (comparator == .isIn ? "" : "_LIST")
            let value = comparator == .isIn ? random.element() : random.list(of: values)
            try withJSON(#"{"value":\#(value),"type":"\#(type)"}"#) { field in
                let allowed = values.filter { isBytes ? !$0.isText : !$0.isBytes }
                let hasBoth = values.contains(where: \.isText) && values.contains(where: \.isBytes)
                guard hasBoth, value != "[]", comparator != .listContainsAll else { return }
                let plain = Clause(field: "f", comparator, allowed, foldsCase: clause.foldsCase)
                let holds = plain.holds(for: FieldView(field: field))
                #expect(clause.holds(forField: field) == holds, "\(clause) \(value)")
            }
        }
    }

    @Test func `ALL IN holds if each element is one of many values`() throws {
        let numbers = (0..<100).map { "\($0 * 2)" }.joined(separator: ",")
        let predicate = try PredicateReader(.extended).predicate("ALL f IN {\(numbers)}")
        let cases = [("[0,2,198]", true), ("[4.0]", true), ("[2,3]", false), (#"[2,"2"]"#, false), ("[]", true)]
        for (list, holds) in cases {
            #expect(try predicate.matches(fields(list)) == holds, "\(list)")
        }
    }

    @Test func `equal values in the list of a predicate count once`() throws {
        let values = [String](repeating: "1, 1.0, 'a', 'A'", count: 10).joined(separator: ",")
        let predicate = try PredicateReader().predicate("f CONTAINS ALL {\(values)}")
        #expect(try predicate.matches(fields(#"["a",1]"#)))
        #expect(try !predicate.matches(fields(#"["b",1]"#)))
        #expect(try !predicate.matches(fields(#"[1]"#)))
    }

    @Test(arguments: ["LIST_CONTAINS_ANY", "LIST_CONTAINS_ALL"])
    func `a comparison with fifty times as many values takes only a few times as long`(comparator: String) throws {
        let list = "[\((0..<5_000).map(String.init).joined(separator: ","))]"
        func time(values count: Int) throws -> Duration {
            let sought = (0..<count).map { "\(1_000_000 + $0)" }.joined(separator: ",")
            let predicate = try RecordPredicate.filter(
                #"[{"comparator":"NOT_\#(comparator)","fieldName":"f","fieldValue":{"value":[\#(sought)]}}]"#)
            return try withJSON(fields(list)) { fields in
                let times = (0..<5).map { _ in
                    ContinuousClock().measure { #expect(predicate.matches(fields)) }
                }
                return times.min() ?? .zero
            }
        }
        #expect(try time(values: 1_000) < time(values: 20) * 15)
    }

    @Test func `an evaluation ends with the error that the caller's check throws`() throws {
        struct Stop: Error {}
        let predicate = try PredicateReader(.extended).predicate("a == 1 AND (b == 1 OR c == 1)")
        try withJSON(#"{"a":{"value":1},"c":{"value":1}}"#) { fields in
            for last in 1...4 {
                var checks = 0
                var holds: Bool?
                do {
                    holds = try predicate.matches(fields, of: nil, now: nil) {
                        checks += 1
                        if checks == last { throw Stop() }
                    }
                } catch is Stop {}
                #expect(holds == (last < 4 ? nil : true))
                #expect(checks == min(last, 3))
            }
        }
    }
}

/// Draws lists of values, and fields that are often equal to one of the values. Most lists leave out some kinds of
/// values.
private struct RandomValues {
    var random: Seeded

    private static let texts = ["", "a", "A", "ab", "aB", "b", "ä", "Ä", "İ", "é\u{301}", "QQ==", "QUI=", "z\\u0041"]
    private static let numbers = [
        "0", "-0.0", "1", "1.0", "1.5", "-3", "9007199254740992", "9007199254740993", "9007199254740992.0",
        "9223372036854775807", "-9223372036854775808", "9223372036854775808", "1e300",
    ]

    init(_ seed: UInt64) { random = Seeded(seed) }

    mutating func values() -> [FieldValue] {
        let kinds = (0..<4).filter { _ in random.isOneIn(2) }
        return (0..<(SortedValues.countMin + random.below(20))).map { _ in
            value(of: kinds.isEmpty ? 0 : random.one(of: kinds))
        }
    }

    private mutating func value(of kind: Int) -> FieldValue {
        let plain = Self.texts.filter { !$0.contains("\\") }
        let text = random.isOneIn(2) ? random.one(of: plain) : "t\(random.below(500))"
        switch kind {
        case 0: return FieldValue(text: text)
        case 1: return .bytes(Array(random.one(of: ["", "QQ==", "QUI=", "QUJD", "+/+/"]).utf8))
        case 2: return .reference(Array(text.utf8))
        default:
            if random.isOneIn(2) { return .integer(Int64(random.below(500))) }
            let number = random.one(of: Self.numbers)
            return Int64(number).map { .integer($0) } ?? .double(Double(number) ?? 0)
        }
    }

    /// The JSON of an element of a list, or of a field that is not a list.
    mutating func element() -> String {
        switch random.below(9) {
        case 0, 1: return "\"\(random.one(of: Self.texts))\""
        case 2: return "\"T\(random.below(500))\""
        case 3: return random.one(of: Self.numbers)
        case 4: return "\(random.below(500))"
        case 5: return #"{"recordName":"\#(random.one(of: Self.texts))"}"#
        case 6: return #"{"recordName":"t\#(random.below(500))"}"#
        case 7: return #"{"latitude":1,"longitude":2}"#
        default: return random.one(of: ["true", "null", "[1]"])
        }
    }

    /// The JSON of a list. Often it contains all or most of the values.
    mutating func list(of values: [FieldValue]) -> String {
        var elements = (0..<random.below(5)).map { _ in element() }
        if random.isOneIn(3) {
            let leavesSomeOut = random.isOneIn(2)
            elements += values.filter { _ in !leavesSomeOut || !random.isOneIn(20) }.map { Self.json($0) }
            elements.shuffle(using: &random)
        }
        return "[\(elements.joined(separator: ","))]"
    }

    private static func json(_ value: FieldValue) -> String {
        switch value {
        case .text(let bytes), .bytes(let bytes): "\"\(String(decoding: bytes, as: UTF8.self))\""
        case .integer(let number): "\(number)"
        case .double(let number): "\(number)"
        case .reference(let bytes): #"{"recordName":"\#(String(decoding: bytes, as: UTF8.self))"}"#
        case .circle, .now: "null"
        }
    }
}
