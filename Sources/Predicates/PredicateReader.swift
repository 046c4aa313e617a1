import JSON

/// Reads the predicates of queries.
package struct PredicateReader: Sendable {
    package enum Dialect: Sendable, Hashable {
        /// Predicates that CloudKit accepts, with Belfry's additions to the text (``RecordPredicate``).
        case cloudKit
        /// Text may also have `OR`, `ALL` before a field, and `NOT` before `BETWEEN` and before groups with `AND` and
        /// `OR`.
        case extended
    }

    package struct Reading: Sendable {
        package let predicate: RecordPredicate
        /// Warnings about the whole predicate come first, then warnings about its parts.
        package let warnings: [PredicateWarning]
    }

    package let dialect: Dialect

    package init(_ dialect: Dialect = .cloudKit) { self.dialect = dialect }

    /// Reads a query's `predicate` with its `arguments`, or its `filterBy`. A query without these members matches every
    /// record. Null counts as missing.
    ///
    /// - Parameter warns: Whether to look for contradictions, which takes time.
    /// - Throws: The first mistake, with its path in the query, its byte offset in `predicate`, or both.
    package func read(query: JSONValue, warns: Bool = true) throws(PredicateError) -> Reading {
        let (text, filterBy, arguments) = (query.given("predicate"), query.given("filterBy"), query.given("arguments"))
        guard let text else {
            guard arguments == nil else {
                throw PredicateError(
                    code: "predicate.arguments", path: "arguments",
                    reason: "the query has arguments but no predicate: add predicate, or take arguments out")
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
            throw PredicateError(code: "predicate.type", path: "predicate", reason: "a predicate must be a string")
        }
        return try read(text: text, arguments: arguments, warns: warns)
    }

    /// Reads the text of an `NSPredicate`.
    ///
    /// - Parameter arguments: A JSON array with one argument for each `%@` and `%K`, in order. For `%K` it is a field's
    ///   name. For `%@` it is a field's value, such as `3`, `["a","b"]` or `{"latitude":52.5,"longitude":13.4}`, or a
    ///   field dictionary, `{"value":…,"type":…}`.
    /// - Throws: The first mistake. It has a byte offset in the text, a path such as `arguments[0]`, or both.
    package func read(
        text: String, arguments: JSONValue? = nil, warns: Bool = true
    ) throws(PredicateError) -> Reading {
        let (condition, places) = try TextParser.condition(
            text, arguments: arguments, isExtended: dialect == .extended)
        return Reading(
            predicate: RecordPredicate(condition), warnings: warns ? PredicateReader.warnings(condition, places) : [])
    }

    private static func warnings(_ condition: Condition, _ places: TextParser.Places) -> [PredicateWarning] {
        let found = Contradictions.warnings(condition) { clause in
            PredicateWarning.Position(path: "predicate", offset: clause.map { places.clauses[$0] } ?? places.never ?? 0)
        }
        guard let never = places.never, condition != .never else { return found }
        // The part that is never true is in a side of an OR. Otherwise the whole condition would be `never`.
        return found + [.neverSide(PredicateWarning.falsePart, at: .init(path: "predicate", offset: never))]
    }

    /// Reads `filterBy` of a CloudKit Web Services query.
    ///
    /// - Throws: The first mistake, with a path that starts at `filterBy`.
    package func read(filterBy: JSONValue, warns: Bool = true) throws(PredicateError) -> Reading {
        let predicate = RecordPredicate(clauses: try FilterReader.clauses(filterBy))
        guard warns else { return Reading(predicate: predicate, warnings: []) }
        let warnings = Contradictions.warnings(predicate.condition) { index in
            PredicateWarning.Position(path: "filterBy[\(index ?? 0)]", offset: nil)
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
