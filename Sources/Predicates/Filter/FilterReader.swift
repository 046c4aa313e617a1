import CloudKitModel
import JSON

/// Reads `filterBy` (CloudKit Web Services Reference: Filter Dictionary).
///
/// The member `ignoresCase` is Belfry's own. If it is true, the filter compares strings as predicates in text form do.
enum FilterReader {
    static func clauses(_ filterBy: JSONValue) throws(PredicateError) -> [Clause] {
        guard filterBy.isArray else {
            throw PredicateError(
                code: "predicate.type", path: "filterBy",
                reason: "filterBy must be an array of filters, but this is \(filterBy.kindName)")
        }
        guard filterBy.count <= PredicateLimits.clausesMax else {
            throw PredicateError(
                code: "predicate.limit", path: "filterBy",
                reason: "\(filterBy.count) filters, over the limit of \(PredicateLimits.clausesMax)")
        }
        var clauses: [Clause] = []
        clauses.reserveCapacity(filterBy.count)
        for filter in filterBy.elements {
            clauses.append(try clause(filter, path: "filterBy[\(clauses.count)]"))
        }
        return clauses
    }

    private static func clause(_ filter: JSONValue, path: @autoclosure () -> String) throws(PredicateError) -> Clause {
        guard filter.isObject else {
            throw PredicateError(
                code: "predicate.type", path: path(),
                reason: "a filter must be an object, but this is \(filter.kindName)")
        }
        for (key, _) in filter.members where !keys.contains(where: { key.equals($0) }) {
            throw PredicateError.unknownKey(key, in: path(), known: keys)
        }
        let (comparator, isNegated) = try comparator(filter, path: path())
        let subject = try subject(filter, comparator, path: path())
        let (effectiveComparator, values) = try values(filter, comparator, isNegated, path: path() + ".fieldValue")
        let checked = try LiteralReader.at(path() + ".fieldValue.value") { () throws(BrokenRule) in
            try ClauseRules.checked(subject, effectiveComparator, values)
        }
        return Clause(
            subject, effectiveComparator, checked, foldsCase: try ignoresCase(filter, path: path()),
            isNegated: isNegated && effectiveComparator != .exists)
    }

    private static let keys: [StaticString] = [
        "comparator", "fieldName", "systemFieldName", "fieldValue", "distance", "ignoresCase",
    ]

    private static func ignoresCase(_ filter: JSONValue, path: @autoclosure () -> String) throws(PredicateError) -> Bool
    {
        guard let flag = filter["ignoresCase"] else { return false }
        guard let flag = flag.bool else {
            throw PredicateError(
                code: "predicate.type", path: path() + ".ignoresCase", reason: "ignoresCase must be true or false")
        }
        return flag
    }
}

// MARK: - Subject and comparator

extension FilterReader {
    private static func subject(
        _ filter: JSONValue, _ comparator: Clause.Comparator, path: @autoclosure () -> String
    ) throws(PredicateError) -> Clause.Subject {
        guard let system = filter["systemFieldName"] else {
            if filter["fieldName"] == nil, comparator.isWordSearch { return .allText }
            return .field(try fieldName(filter, path: path() + ".fieldName"))
        }
        guard filter["fieldName"] == nil else {
            throw PredicateError(
                code: "predicate.unsupported", path: path() + ".systemFieldName",
                reason: "a filter names a field or a system field, not both: keep one of them")
        }
        guard let name = system.string, let field = SystemField(inFilter: name) else {
            let names = SystemField.allCases.map(\.filterName).joined(separator: ", ")
            let found = system.string.map { "\"\($0.prefix(64))\"" } ?? system.kindName
            throw PredicateError(
                code: "predicate.unsupported", path: path() + ".systemFieldName",
                reason: "\(found) is not a system field: use one of \(names); for a field of the app, use fieldName")
        }
        return .system(field)
    }

    private static func fieldName(_ filter: JSONValue, path: @autoclosure () -> String) throws(PredicateError) -> String
    {
        guard let name = filter["fieldName"]?.string, !name.isEmpty else {
            throw PredicateError(code: "predicate.missing", path: path(), reason: "a filter needs the name of a field")
        }
        try LiteralReader.at(path()) { () throws(BrokenRule) in
            guard SystemField(inText: name) == nil || NameRule.fieldName.accepts(name) else {
                throw BrokenRule("\(name) is a system field: name it by systemFieldName", code: "predicate.syntax")
            }
            try FieldName.check(name)
        }
        return name
    }

    private static func comparator(
        _ filter: JSONValue, path: @autoclosure () -> String
    ) throws(PredicateError) -> (Clause.Comparator, Bool) {
        guard let name = filter["comparator"]?.string else {
            throw PredicateError(
                code: "predicate.missing", path: path() + ".comparator",
                reason: "a filter needs a comparator, such as \"EQUALS\"")
        }
        guard let comparator = FilterComparators.byName[name] else {
            let names = FilterComparators.byName.keys.sorted().joined(separator: ", ")
            throw PredicateError(
                code: "predicate.unsupported", path: path() + ".comparator",
                reason: "\"\(name.prefix(64))\" is not a comparator: use one of \(names)")
        }
        return comparator
    }
}

// MARK: - Values

extension FilterReader {
    /// - Returns: The values with their comparator: NOT_EQUALS null becomes `exists`.
    private static func values(
        _ filter: JSONValue, _ comparator: Clause.Comparator, _ isNegated: Bool, path: @autoclosure () -> String
    ) throws(PredicateError) -> (Clause.Comparator, [FieldValue]) {
        guard let fieldValue = filter["fieldValue"], fieldValue.isObject else {
            throw PredicateError(
                code: "predicate.missing", path: path(), reason: "a filter needs a value: {\"value\":…,\"type\":…}")
        }
        let literal = try LiteralReader.literal(fieldValue: fieldValue, path: path())
        let distance = filter["distance"]
        guard distance == nil || comparator == .isNear else {
            throw PredicateError(
                code: "predicate.unsupported", path: filterPath(path()) + ".distance",
                reason: "only NEAR has a distance: take distance out, or use NEAR")
        }
        if case .location(let centre) = literal, comparator == .isNear {
            return (comparator, [try circle(around: centre, distance, path: filterPath(path()) + ".distance")])
        }
        return try LiteralReader.at(path() + ".value") { () throws(BrokenRule) in
            try values(literal, comparator, isNegated)
        }
    }

    private static func filterPath(_ path: String) -> String { String(path.dropLast(".fieldValue".count)) }

    private static func circle(
        around centre: Coordinate, _ distance: JSONValue?, path: @autoclosure () -> String
    ) throws(PredicateError) -> FieldValue {
        guard let distance else {
            throw PredicateError(
                code: "predicate.missing", path: path(), reason: "NEAR needs a distance in metres: add it")
        }
        guard let metres = distance.double, metres >= 0 else {
            throw PredicateError(
                code: "predicate.type", path: path(), reason: "a distance must be a number of metres, 0 or greater")
        }
        return .circle(Circle(latitude: centre.latitude, longitude: centre.longitude, radius: metres.magnitude))
    }

    private static func values(
        _ literal: Literal, _ comparator: Clause.Comparator, _ isNegated: Bool
    ) throws(BrokenRule) -> (Clause.Comparator, [FieldValue]) {
        switch literal {
        case .nothing where comparator == .equals && isNegated: return (.exists, [])
        case .nothing:
            throw BrokenRule(
                "null can be compared only with NOT_EQUALS, which finds records that have the field; to find records "
                    + "that lack it, let the app save a second field, such as has_title with 0 or 1, and use "
                    + "has_title EQUALS 0")
        case .list(let values):
            guard comparator.takesList else {
                throw BrokenRule("\(name(comparator, isNegated)) needs one value, not an array")
            }
            return (comparator, values)
        case .location: throw BrokenRule("a location can only be compared by its distance: use NEAR")
        case .value(let value): return (comparator, try single(value, comparator, isNegated))
        }
    }

    private static func single(
        _ value: FieldValue, _ comparator: Clause.Comparator, _ isNegated: Bool
    ) throws(BrokenRule) -> [FieldValue] {
        guard !comparator.takesList else {
            throw BrokenRule("\(name(comparator, isNegated)) needs an array of values, not one value")
        }
        guard comparator != .isNear else {
            throw BrokenRule("NEAR needs a location: {\"latitude\":…,\"longitude\":…}")
        }
        guard comparator.isWordSearch else { return [value] }
        guard case .text(let text) = value else { throw BrokenRule("a search for words needs a string") }
        return try Words.checked(String(decoding: text, as: UTF8.self))
    }

    private static func name(_ comparator: Clause.Comparator, _ isNegated: Bool) -> String {
        FilterComparators.name(of: comparator, isNegated: isNegated) ?? "this comparator"
    }
}

extension Words {
    static func checked(_ text: String) throws(BrokenRule) -> [FieldValue] {
        let words = sought(text)
        guard words.count <= PredicateLimits.wordsMax else {
            throw BrokenRule(
                "\(words.count) words, over the limit of \(PredicateLimits.wordsMax)", code: "predicate.limit")
        }
        return words
    }
}

extension PredicateError {
    static func unknownKey(_ key: JSONValue, in path: @autoclosure () -> String, known: [StaticString])
        -> PredicateError
    {
        let name = String((key.string ?? "").prefix(64))
        return PredicateError(
            code: "predicate.unknown_key", path: "\(path()).\(name)",
            reason: "\"\(name)\" is not a member here: \(Spelling.advice(for: name, among: known))")
    }
}
