import JSON
import TestSupport

@testable import Predicates

/// Draws random predicates whose values occur in records.
struct DrawnPredicate {
    var random: Seeded

    /// A predicate of the extended dialect. At least three in four have no nested AND or OR.
    mutating func predicate() -> RecordPredicate {
        switch random.below(20) {
        case 0: return RecordPredicate(condition(depth: 3))
        case 1..<5: return RecordPredicate(.joined(all: [condition(depth: 1), condition(depth: 1)]))
        case 5: return RecordPredicate(clauses: [clause()], isNever: random.isOneIn(3))
        default: return RecordPredicate(clauses: conjunction())
        }
    }

    /// Draws clauses that are joined by AND. Sometimes two of them are the bounds of one field, as for BETWEEN.
    private mutating func conjunction() -> [Clause] {
        var clauses: [Clause] = []
        for _ in 0..<[1, 1, 2, 2, 3, 5][random.below(6)] { clauses.append(clause()) }
        if random.isOneIn(4) {
            let name = random.one(of: ["n", "m"])
            for bound in [Clause.Comparator.greaterThanOrEquals, .lessThanOrEquals] {
                clauses.append(Clause(field: name, bound, [number()], foldsCase: false))
            }
        }
        return clauses
    }

    private mutating func condition(depth: Int) -> Condition {
        guard depth > 0, !random.isOneIn(4) else { return .clause(clause()) }
        var parts: [Condition] = []
        for _ in 0...random.below(3) { parts.append(condition(depth: depth - 1)) }
        return random.isOneIn(3) ? .joined(all: parts) : .joined(any: parts)
    }

    private var randomBool: Bool { mutating get { random.isOneIn(2) } }
}

// MARK: - Clauses

extension DrawnPredicate {
    private mutating func clause() -> Clause {
        switch random.below(16) {
        case 0: return Clause(.allText, randomBool ? .containsAnyWord : .containsAllWords, words(), foldsCase: false)
        case 1, 2: return systemClause()
        case 3: return Clause(field: random.one(of: RandomField.all).name, .exists, [], foldsCase: false)
        default: break
        }
        let field = random.one(of: RandomField.all)
        switch field.kind {
        case .texts: return textClause(field.name)
        case .numbers: return scalarClause(field.name, Self.ordered, [number(), number(), number()])
        case .bytes: return scalarClause(field.name, Self.ordered, [bytes(), bytes(), bytes()])
        case .references: return scalarClause(field.name, [.equals, .isIn], [reference(), reference()])
        case .locations: return Clause(field: field.name, .isNear, [circle()], foldsCase: false)
        case .assets: return Clause(field: field.name, .exists, [], foldsCase: false)
        case .textLists: return listClause(field.name, [text(), text(), text()])
        case .numberLists: return listClause(field.name, [number(), number(), number()])
        case .referenceLists: return listClause(field.name, [reference(), reference()])
        }
    }

    private static let ordered: [Clause.Comparator] = [
        .equals, .equals, .isIn, .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals,
    ]

    private mutating func textClause(_ name: String) -> Clause {
        switch random.below(8) {
        case 0:
            return Clause(field: name, randomBool ? .containsAnyWord : .containsAllWords, words(), foldsCase: false)
        case 1, 2:
            return Clause(field: name, .beginsWith, [text()], foldsCase: false, isNegated: random.isOneIn(4))
        default: return scalarClause(name, Self.ordered, [text(), text(), text()])
        }
    }

    /// Draws a clause about a field that is not a list. One clause in ten compares with a text, whatever the type of
    /// the field. With the comparator IN, such a clause lists no value, one text, or a text and a number.
    private mutating func scalarClause(
        _ name: String, _ comparators: [Clause.Comparator], _ drawn: [FieldValue]
    ) -> Clause {
        let comparator = random.one(of: comparators)
        let values = random.isOneIn(10) ? [text(), number()] : drawn
        return Clause(
            field: name, comparator, comparator == .isIn ? Array(values.prefix(random.below(4))) : [values[0]],
            foldsCase: randomBool, isNegated: random.isOneIn(4))
    }

    private mutating func listClause(_ name: String, _ values: [FieldValue]) -> Clause {
        let many = Array(values.prefix(1 + random.below(3)))
        if random.isOneIn(5) { return everyClause(name, values) }
        if name == "ls", random.isOneIn(5) {
            return random.isOneIn(2)
                ? Clause(field: name, .listMemberBeginsWith, [text()], foldsCase: false, isNegated: random.isOneIn(3))
                : Clause(field: name, randomBool ? .containsAnyWord : .containsAllWords, words(), foldsCase: false)
        }
        let comparator = random.one(of: [Clause.Comparator.listContains, .listContainsAny, .listContainsAll])
        return Clause(
            field: name, comparator, comparator == .listContains ? [values[0]] : many, foldsCase: randomBool,
            isNegated: random.isOneIn(4))
    }

    /// Draws a clause about all elements of a list. References are not compared by order, because they have no order.
    private mutating func everyClause(_ name: String, _ values: [FieldValue]) -> Clause {
        var tests: [Clause.Test] = [.equals, .isIn]
        if name != "lr" { tests += [.lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals] }
        if name == "ls" { tests.append(.beginsWith) }
        let test = random.one(of: tests)
        return Clause(
            field: name, .every(test), test == .isIn ? values : [values[0]], foldsCase: randomBool,
            isNegated: random.isOneIn(4))
    }

    private mutating func systemClause() -> Clause {
        let field = random.one(of: SystemField.allCases)
        if random.isOneIn(6) { return Clause(.system(field), .exists, [], foldsCase: false) }
        let comparator = random.one(of: field.isReference ? [.equals, .isIn] : Self.ordered)
        var values: [FieldValue] = []
        for _ in 0..<(comparator == .isIn ? 1 + random.below(3) : 1) {
            values.append(field.isDate ? .integer(Int64(random.below(4))) : field.isReference ? reference() : text())
        }
        return Clause(.system(field), comparator, values, foldsCase: randomBool, isNegated: random.isOneIn(4))
    }
}

// MARK: - Values

extension DrawnPredicate {
    private mutating func text() -> FieldValue {
        FieldValue(text: random.one(of: RandomField.texts).replacing("\\\"", with: "\""))
    }

    private mutating func number() -> FieldValue {
        let text = RandomField.number(&random)
        return Int64(text).map { .integer($0) } ?? .double(Double(text) ?? 0)
    }

    private mutating func bytes() -> FieldValue { .bytes(Array(random.one(of: RandomField.bytes).utf8)) }

    private mutating func reference() -> FieldValue { .reference(Array(random.one(of: RandomField.names).utf8)) }

    private mutating func words() -> [FieldValue] {
        Words.sought(random.one(of: ["cafe", "Café x2", "x2", "bar q", "日本", "a", "ab abc", "the", "b x"]))
    }

    private mutating func circle() -> FieldValue {
        let location = random.one(of: RandomField.locations)
        let radius: Double = random.one(of: [0, 1, 200, 5000, 100_000, 2_000_000, 20_100_000])
        return .circle(Circle(latitude: location.0, longitude: location.1, radius: radius))
    }
}
