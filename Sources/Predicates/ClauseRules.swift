import CloudKitModel

/// A rule that a comparison breaks, before it is known where that stands.
struct BrokenRule: Error {
    let code: String
    let reason: String

    init(_ reason: String, code: String = "predicate.type") { (self.code, self.reason) = (code, reason) }
}

/// Which values a comparator takes of which subject. The one place for text and `filterBy` alike.
enum ClauseRules {
    /// The values as they are compared: a record's name given as a string stands for the reference to it.
    static func checked(
        _ subject: Clause.Subject, _ comparator: Clause.Comparator, _ values: [FieldValue]
    ) throws(BrokenRule) -> [FieldValue] {
        var values = values
        if case .system(let field) = subject { values = try checked(field, comparator, values) }
        for value in values { try check(value, comparator) }
        return values
    }

    private static func check(_ value: FieldValue, _ comparator: Clause.Comparator) throws(BrokenRule) {
        if comparator.isPrefix, !value.isText { throw BrokenRule("only strings begin with something") }
        if comparator.isOrdering, case .reference = value {
            throw BrokenRule("references have no order: use == or IN (EQUALS or IN in filterBy)")
        }
        if value == .now, comparator.takesList {
            throw BrokenRule("now() stands in no list: compare with it by itself, as in due < now()")
        }
        if comparator == .isNear { return }
        if case .circle = value { throw BrokenRule("a location is compared by its distance only") }
    }

    private static func checked(
        _ field: SystemField, _ comparator: Clause.Comparator, _ values: [FieldValue]
    ) throws(BrokenRule) -> [FieldValue] {
        guard !comparator.isForLists else { throw BrokenRule("\(field.spellings) is no list") }
        guard comparator != .isNear, !comparator.isWordSearch else {
            throw BrokenRule("\(field.spellings) is no location and no text to search")
        }
        if field.isDate, !values.allSatisfy(\.isNumber) {
            throw BrokenRule(
                "\(field.spellings) is a date: compare it with CAST('2026-01-31T12:00:00Z', 'NSDate'), in filterBy with a TIMESTAMP"
            )
        }
        guard field.isReference else {
            guard field.isDate || values.allSatisfy(\.isText) else {
                throw BrokenRule("\(field.spellings) is a string")
            }
            return values
        }
        return try references(field, comparator, values)
    }

    private static func references(
        _ field: SystemField, _ comparator: Clause.Comparator, _ values: [FieldValue]
    ) throws(BrokenRule) -> [FieldValue] {
        guard [.equals, .isIn, .exists].contains(comparator) else {
            throw BrokenRule(
                "\(field.spellings) is a reference, which has no order and no beginning: use == or IN (EQUALS or IN in filterBy)"
            )
        }
        var references: [FieldValue] = []
        for value in values {
            switch value {
            case .text(let name), .reference(let name): references.append(.reference(name))
            default: throw BrokenRule("\(field.spellings) is compared with record names")
            }
        }
        return references
    }
}

/// What a field of a predicate may be called: what one of a record may be, so that none is named that no record has.
enum FieldName {
    /// - Throws: The rule, where no record has a field of that name.
    static func check(_ name: String) throws(BrokenRule) {
        guard !NameRule.fieldName.accepts(name) else { return }
        throw BrokenRule(
            "\"\(name.prefix(64))\" is no field's name: \(NameRule.fieldName.rule)", code: "predicate.syntax")
    }
}
