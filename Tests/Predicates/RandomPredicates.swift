import JSON
import TestSupport

@testable import Predicates

/// Draws random predicates as ``RecordPredicate``s, not as texts, and draws records for them.
struct RandomPredicates {
    var random: Seeded

    private static let names = [
        "a", "b", "in", "self", "allTokens", "creationDate", "A_1", "TRUE", "tokenize", "n", "cast",
    ]
    private static let texts = [
        "", "a", "A", "Ab", "it's", "back\\slash", "line\nfeed\ttab", "%@", "ÄÖ", "İstanbul", "🐶", "\"q\"", "\u{1}",
        "x y",
    ]

    init(_ seed: UInt64) { random = Seeded(seed) }

    mutating func predicate() -> RecordPredicate {
        if random.isOneIn(50) { return RecordPredicate(clauses: [], isNever: true) }
        var clauses: [Clause] = []
        for _ in 0..<random.below(5) { clauses.append(clause()) }
        return RecordPredicate(clauses: clauses)
    }

    mutating func extended() -> RecordPredicate { RecordPredicate(condition(depth: 3)) }

    private mutating func condition(depth: Int) -> Condition {
        guard depth > 0, !random.isOneIn(3) else { return .clause(random.isOneIn(4) ? everyClause() : clause()) }
        var parts: [Condition] = []
        for _ in 0...random.below(3) { parts.append(condition(depth: depth - 1)) }
        return random.isOneIn(2) ? .joined(all: parts) : .joined(any: parts)
    }

    private mutating func everyClause() -> Clause {
        let test = random.one(
            of: [
                Clause.Test.equals, .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals, .isIn,
                .beginsWith,
            ])
        let values = test == .beginsWith ? [text()] : test == .isIn ? list() : [ordered()]
        return Clause(field: random.one(of: Self.names), .every(test), values, foldsCase: flag, isNegated: flag)
    }

    mutating func clause() -> Clause {
        switch random.below(12) {
        case 0:
            return Clause(.allText, random.isOneIn(2) ? .containsAnyWord : .containsAllWords, words(), foldsCase: flag)
        case 1:
            return Clause(
                field: random.one(of: Self.names), random.isOneIn(2) ? .containsAnyWord : .containsAllWords, words(),
                foldsCase: flag)
        case 2: return Clause(field: random.one(of: Self.names), .isNear, [circle()], foldsCase: false)
        case 3: return Clause(subject(), .exists, [], foldsCase: false)
        case 4, 5: return systemClause()
        default: return fieldClause()
        }
    }

    private mutating func fieldClause() -> Clause {
        let comparator = random.one(
            of: [
                Clause.Comparator.equals, .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals, .isIn,
                .beginsWith, .listContains, .listContainsAny, .listContainsAll, .listMemberBeginsWith,
            ])
        let values =
            comparator.takesList
            ? list() : comparator.isPrefix ? [text()] : comparator.isOrdering ? [ordered()] : [value()]
        return Clause(field: random.one(of: Self.names), comparator, values, foldsCase: flag, isNegated: flag)
    }

    private mutating func systemClause() -> Clause {
        let field = random.one(of: SystemField.allCases)
        let comparator = random.one(of: [Clause.Comparator.equals, .isIn])
        var values: [FieldValue] = []
        for _ in 0..<(comparator == .isIn ? random.below(3) : 1) {
            values.append(field.isDate ? .integer(Int64(random.below(100))) : field.isReference ? reference() : text())
        }
        return Clause(.system(field), comparator, values, foldsCase: flag, isNegated: flag)
    }

    private mutating func subject() -> Clause.Subject {
        random.isOneIn(3) ? .system(random.one(of: SystemField.allCases)) : .field(random.one(of: Self.names))
    }

    private var flag: Bool { mutating get { random.isOneIn(2) } }

    // MARK: Values

    private mutating func text() -> FieldValue { FieldValue(text: random.one(of: Self.texts)) }

    private mutating func reference() -> FieldValue { .reference(Array(random.one(of: Self.texts).utf8)) }

    private mutating func number() -> FieldValue {
        switch random.below(4) {
        case 0: return .integer(random.one(of: [.min, .max, 0, -1, 1 << 53]))
        case 1: return .integer(Int64(random.below(5)))
        case 2: return .double(Double(random.below(9)) / 2)
        default:
            let drawn = Double(bitPattern: random.next())
            return .double(drawn.isFinite ? drawn : -0.0)
        }
    }

    private mutating func ordered() -> FieldValue {
        random.below(3) == 0 ? text() : random.isOneIn(8) ? bytes() : number()
    }

    private mutating func value() -> FieldValue { random.isOneIn(5) ? reference() : ordered() }

    private mutating func bytes() -> FieldValue {
        .bytes(Array(random.one(of: ["", "QQ==", "QUI=", "QUJD", "+/+/"]).utf8))
    }

    /// All values of a list are bytes, or none is: `filterBy` cannot express a list with bytes and other values.
    private mutating func list() -> [FieldValue] {
        var values: [FieldValue] = []
        let isBytes = random.isOneIn(6)
        for _ in 0..<random.below(4) { values.append(isBytes ? bytes() : random.isOneIn(2) ? text() : number()) }
        return values
    }

    private mutating func words() -> [FieldValue] {
        Words.sought(random.one(of: ["", "Café x2 bar", "the", "x", "日本 x X y"]))
    }

    private mutating func circle() -> FieldValue {
        .circle(
            Circle(
                latitude: Double(random.below(1800)) / 10 - 90, longitude: Double(random.below(3600)) / 10 - 180,
                radius: random.isOneIn(2) ? Double(random.below(9000)) : Double(random.below(9000)).nextDown.magnitude))
    }

    // MARK: Records

    /// A record dictionary with some fields.
    mutating func record() -> String {
        let values = [
            "1", "2.0", "1.5", "\"a\"", "\"Ab\"", "[\"a\",\"x\"]", "[]", "[1,2]", "[\"A\",1]", #"{"recordName":"a"}"#,
            #"{"latitude":10,"longitude":20}"#, "\"QUI=\"", "\"the café x2\"", #"{"downloadURL":"u"}"#,
        ]
        var fields: [String] = []
        for name in Self.names where !random.isOneIn(3) {
            fields.append(#""\#(name)":{"value":\#(random.one(of: values))}"#)
        }
        return
            #"{"recordName":"a","created":{"timestamp":\#(random.below(100))},"fields":{\#(fields.joined(separator: ","))}}"#
    }
}
