import JSON

/// A condition on a record. It consists of comparisons that must all hold. An extended predicate, which is read with
/// ``PredicateReader/Dialect/extended``, may also contain OR.
///
/// A predicate is read from `filterBy` of CloudKit Web Services or from the text of an `NSPredicate`. Every predicate
/// can be written as ``text``, but not every predicate as ``filterBy``. Rules for all comparisons:
///
/// - A comparison is false if the record does not have the field, or if the types differ. A negated comparison is then
///   also false. `field != nil` (`NOT_EQUALS` null) holds for a field of any type, even an asset.
/// - Strings are compared by their UTF-8 bytes, never by canonical equivalence. `filterBy` compares exactly. In text,
///   `BEGINSWITH` compares exactly, and all other comparisons ignore case (CKQuery): they use the lower-case mapping of
///   each Unicode scalar.
/// - Numbers are compared exactly, also 64-bit integers with doubles. Timestamps are numbers: milliseconds since 1970.
///   Numbers and timestamps are one type. `TRUE` and `FALSE` in a text, and Boolean arguments, are 1 and 0. A Boolean
///   in a record counts as missing.
/// - Bytes and strings are distinguished by the `type` of the field's dictionary. A string in a field without a type
///   may be either: in a comparison with bytes, it is read as base64.
/// - `now()` is the recorded time of the change, so that a replay has the same result. In a query of records, `now()`
///   is the time of the query.
/// - References are equal if their record names are equal. Bytes are given as base64 and compared as bytes.
/// - Words are searched for in one string field or in all of them, ignoring case and diacritics.
/// - ``Circle`` defines distances.
///
/// Belfry extends the text's syntax, so that every `filterBy` can be written as text. `==[n]` compares strings exactly.
/// `CONTAINS ALL {…}` requires that the field's list contains all listed values. `reference('name')`, `bytes('base64')`
/// and `location(latitude, longitude)` are values that an app would pass as arguments. In a filter,
/// `"ignoresCase":true` ignores case.
package struct RecordPredicate: Sendable, Hashable {
    /// Comparisons that must all hold, in the order of the query.
    package let clauses: [Clause]
    /// Further conditions that must also hold. Each of them is an OR. Only extended predicates have such conditions.
    package let alternatives: [Condition]
    /// Whether no record matches, whatever the clauses are: `FALSEPREDICATE`.
    package let isNever: Bool

    init(clauses: [Clause], alternatives: [Condition] = [], isNever: Bool = false) {
        (self.clauses, self.alternatives, self.isNever) = (clauses, alternatives, isNever)
    }

    init(_ condition: Condition) {
        var (clauses, alternatives) = ([Clause](), [Condition]())
        for part in condition.parts {
            if case .clause(let clause) = part { clauses.append(clause) } else { alternatives.append(part) }
        }
        self.init(
            clauses: clauses, alternatives: condition == .never ? [] : alternatives, isNever: condition == .never)
    }

    /// Matches every record.
    package static let always = RecordPredicate(clauses: [])

    /// Reads the text of an `NSPredicate`, such as `title BEGINSWITH 'H' AND stars > 3`, in linear time.
    ///
    /// - Throws: The first mistake, with its byte offset.
    package init(text: String) throws(PredicateError) { self = try PredicateReader().read(text: text).predicate }

    /// Reads `filterBy` of a CloudKit Web Services query: an array of filter dictionaries.
    ///
    /// - Throws: The first mistake, with a path that starts at `filterBy`.
    package init(filterBy: JSONValue) throws(PredicateError) {
        self = try PredicateReader().read(filterBy: filterBy).predicate
    }

    /// Whether the predicate holds for a dictionary of CloudKit fields: `{"title":{"value":"Hi","type":"STRING"}}`.
    ///
    /// - Parameters:
    ///   - fields: Nil, or a value that is not an object, counts as a record without fields.
    ///   - record: The record dictionary, for system fields: `{"recordName":…,"created":{"timestamp":…},…}`.
    ///   - now: The value of `now()` in milliseconds since 1970; if it is nil, no comparison with `now()` holds.
    ///   - save: The save of the record, for system fields that the dictionary lacks; nil for a deleted record, and if
    ///     it is unknown.
    package func matches(
        _ fields: JSONValue?, of record: JSONValue? = nil, now: Int64? = nil, save: RecordSave? = nil
    ) -> Bool {
        let view = RecordView(record: record, fields: fields, now: now, save: save)
        return !isNever && clauses.allSatisfy { view.holds($0) } && alternatives.allSatisfy { view.holds($0) }
    }

    /// Like ``matches(_:of:now:save:)``, for records with so many values that one evaluation may take seconds.
    ///
    /// - Parameter check: Called before each comparison. An error that it throws ends the evaluation.
    package func matches(
        _ fields: JSONValue?, of record: JSONValue?, now: Int64?, check: () throws -> Void
    ) throws -> Bool {
        let view = RecordView(record: record, fields: fields, now: now)
        guard !isNever else { return false }
        return try clauses.allSatisfy { try view.holds(.clause($0), check: check) }
            && alternatives.allSatisfy { try view.holds($0, check: check) }
    }
}

/// The limits of a predicate. A predicate that exceeds one of them is rejected.
package enum PredicateLimits {
    /// The most bytes of a predicate's text.
    package static let textBytesMax = 100 << 10
    /// The most comparisons in one predicate.
    package static let clausesMax = 10_000
    /// The most values in one list, for example after `IN`.
    package static let valuesMax = 1_000
    /// The maximum number of distinct words in one search.
    package static let wordsMax = 100
    /// The deepest nesting of parentheses.
    package static let depthMax = 128
}
