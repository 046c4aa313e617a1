import JSON

/// Reads predicates, as a saved subscription's query has them.
package struct PredicateReader: Sendable {
    package enum Dialect: Sendable, Hashable {
        /// What CloudKit takes, and nothing more.
        case cloudKit
        /// In text also `OR`, `ALL`, and `NOT` before whatever `AND` and `OR` join.
        case extended
    }

    package struct Reading: Sendable {
        package let predicate: RecordPredicate
        /// What can never hold, if anything: first why the whole predicate, then parts of it.
        package let warnings: [PredicateWarning]
    }

    package let dialect: Dialect

    package init(_ dialect: Dialect = .cloudKit) { self.dialect = dialect }

    /// Reads what a query has: `predicate`, with `arguments` where it has placeholders, or `filterBy`, or neither for
    /// every record. Null stands for a member that is missing.
    ///
    /// - Throws: The first thing wrong; its place is a path below the query, or an offset in `predicate`.
    package func read(query: JSONValue) throws(PredicateError) -> Reading {
        try read(query: query, warns: true)
    }

    /// The same where nobody is to be warned.
    package func predicate(query: JSONValue) throws(PredicateError) -> RecordPredicate {
        try read(query: query, warns: false).predicate
    }

    private func read(query: JSONValue, warns: Bool) throws(PredicateError) -> Reading {
        let (text, filterBy, arguments) = (query.given("predicate"), query.given("filterBy"), query.given("arguments"))
        guard let text else {
            guard arguments == nil else {
                throw PredicateError(
                    code: "predicate.arguments", path: "arguments", reason: "arguments go with a predicate's text")
            }
            return try filterBy.map { filterBy throws(PredicateError) in try read(filterBy: filterBy, warns: warns) }
                ?? Reading(predicate: .always, warnings: [])
        }
        guard filterBy == nil else {
            throw PredicateError(
                code: "predicate.unsupported", path: "predicate",
                reason: "a query has filterBy or predicate, not both: keep one of them")
        }
        guard let text = text.string else {
            throw PredicateError(code: "predicate.type", path: "predicate", reason: "a predicate is a string")
        }
        return try read(text: text, arguments: arguments, warns: warns)
    }

    /// Reads the text of an `NSPredicate`.
    ///
    /// - Parameter arguments: A JSON array of what `%@` and `%K` stand for, in order: scalars, lists of them, or
    ///   `{"value":…,"type":…}`.
    /// - Throws: The first thing wrong, with its byte offset; or, when an argument is wrong, its path.
    package func read(text: String, arguments: JSONValue? = nil) throws(PredicateError) -> Reading {
        try read(text: text, arguments: arguments, warns: true)
    }

    private func read(text: String, arguments: JSONValue?, warns: Bool) throws(PredicateError) -> Reading {
        let (condition, places) = try TextParser.condition(
            text, arguments: arguments, isExtended: dialect == .extended)
        return Reading(
            predicate: RecordPredicate(condition), warnings: warns ? PredicateReader.warnings(condition, places) : [])
    }

    private static func warnings(_ condition: Condition, _ places: TextParser.Places) -> [PredicateWarning] {
        let found = Contradictions.warnings(condition) { clause in
            PredicateWarning.Place(path: "predicate", offset: clause.map { places.clauses[$0] } ?? places.never ?? 0)
        }
        guard let never = places.never, condition != .never else { return found }
        // Only an OR passes over a constant.
        return found + [.neverSide("FALSEPREDICATE", at: .init(path: "predicate", offset: never))]
    }

    /// Reads `filterBy` of a CloudKit Web Services query.
    ///
    /// - Throws: The first thing wrong, with a path that starts at `filterBy`.
    package func read(filterBy: JSONValue) throws(PredicateError) -> Reading {
        try read(filterBy: filterBy, warns: true)
    }

    private func read(filterBy: JSONValue, warns: Bool) throws(PredicateError) -> Reading {
        let predicate = RecordPredicate(clauses: try FilterReader.clauses(filterBy))
        guard warns else { return Reading(predicate: predicate, warnings: []) }
        let warnings = Contradictions.warnings(predicate.condition) { index in
            PredicateWarning.Place(path: "filterBy[\(index ?? 0)]", offset: nil)
        }
        return Reading(predicate: predicate, warnings: warnings)
    }
}

extension JSONValue {
    fileprivate func given(_ key: StaticString) -> JSONValue? {
        guard let value = self[key], !value.isNull else { return nil }
        return value
    }
}
