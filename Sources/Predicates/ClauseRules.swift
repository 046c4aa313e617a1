import CloudKitModel

/// A rule that a comparison breaks. The caller adds the position.
struct BrokenRule: Error {
    let code: String
    let reason: String

    init(_ reason: String, code: String = "predicate.type") { (self.code, self.reason) = (code, reason) }
}

/// Checks whether a comparator accepts the given values for a subject. The same rules hold for the text of a
/// predicate and for `filterBy`.
enum ClauseRules {
    /// Returns the values to compare. For a system field that is a reference, a string becomes the record name of a
    /// reference.
    static func checked(
        _ subject: Clause.Subject, _ comparator: Clause.Comparator, _ values: [FieldValue]
    ) throws(BrokenRule) -> [FieldValue] {
        var values = values
        if case .system(let field) = subject { values = try checked(field, comparator, values) }
        for value in values { try check(value, comparator) }
        return values
    }

    private static func check(_ value: FieldValue, _ comparator: Clause.Comparator) throws(BrokenRule) {
        if comparator.isPrefix, !value.isText { throw BrokenRule("only strings can be compared by their beginning") }
        if comparator.isOrdering, case .reference = value {
            throw BrokenRule("references have no order: use == or IN (EQUALS or IN in filterBy)")
        }
        if value == .now, comparator.takesList {
            throw BrokenRule("now() cannot be in a list: compare with it alone, as in due < now()")
        }
        if comparator == .isNear { return }
        if case .circle = value {
            throw BrokenRule(
                "a location can only be compared by its distance: use distanceToLocation:fromLocation: (NEAR in filterBy)"
            )
        }
    }

    private static func checked(
        _ field: SystemField, _ comparator: Clause.Comparator, _ values: [FieldValue]
    ) throws(BrokenRule) -> [FieldValue] {
        guard !comparator.isForLists else { throw BrokenRule("\(field.spellings) is not a list") }
        guard comparator != .isNear, !comparator.isWordSearch else {
            throw BrokenRule("\(field.spellings) is neither a location nor a text to search")
        }
        if field.isDate, !values.allSatisfy(\.isNumber) {
            throw BrokenRule(
                "\(field.spellings) is a date: compare it with CAST('2026-01-31T12:00:00Z', 'NSDate'), in filterBy with a TIMESTAMP"
            )
        }
        guard field.isReference else {
            guard field.isDate || values.allSatisfy(\.isText) else {
                throw BrokenRule("\(field.spellings) is a string: compare it with a string")
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
            default: throw BrokenRule("\(field.spellings) can only be compared with record names")
            }
        }
        return references
    }
}

/// Checks the name of a field in a predicate by the rule for fields of records.
enum FieldName {
    /// - Throws: The broken rule, if no record can have a field of this name.
    static func check(_ name: String) throws(BrokenRule) {
        guard !NameRule.fieldName.accepts(name) else { return }
        throw BrokenRule(
            "\"\(name.prefix(64))\" cannot be a field's name: \(NameRule.fieldName.rule)", code: "predicate.syntax")
    }
}
