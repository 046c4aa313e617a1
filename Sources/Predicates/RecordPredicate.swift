import JSON

/// A condition on a record: comparisons that must all hold.
///
/// It has one form, whichever way it was written: as `filterBy` of CloudKit Web Services or as the text of an
/// `NSPredicate`, and prints back to either. What all comparisons share:
///
/// - A comparison with a field that the record lacks is false, negated ones too; so is one between different types.
///   `field != nil` (`NOT_EQUALS` null) holds for a field of any type that the record has, an asset too.
/// - Strings compare by their UTF-8 bytes, never by canonical equivalence. In `filterBy` they compare exactly. In text,
///   `BEGINSWITH` compares exactly and everything else ignores case (CloudKit: CKQuery), by each Unicode scalar's
///   lower-case mapping.
/// - Whole numbers compare exactly over 64 bits, and exactly with doubles too. Timestamps are numbers: milliseconds
///   since 1970. Truth values are 1 and 0. A number's type and a timestamp's are not told apart. Bytes and strings
///   are, by the type that the field's dictionary names; where it names none, bytes compare with a string that stands
///   for them.
/// - `now()` is the recorded time of the change that is looked at, so that a replay finds the same.
/// - References are equal when their record names are. Bytes are compared as bytes, given as base64.
/// - Words are searched for in all string fields, or in one, regardless of case and diacritics.
/// - Distances are those of ``Circle``.
///
/// What CloudKit's text cannot say and `filterBy` can has a form of ours, so that every predicate prints as text:
/// `==[n]` compares strings exactly (NSPredicate's word for strings that are not to be folded); `CONTAINS ALL {…}`;
/// `reference('name')`, `bytes('base64')` and `location(latitude, longitude)` are values that an app passes as
/// arguments. The other way round, `"ignoresCase":true` in a filter ignores case.
package struct RecordPredicate: Sendable, Hashable {
    /// What must hold, in the order it was written; empty when everything matches.
    package let clauses: [Clause]
    /// What must hold too, each an OR; empty but for extended predicates.
    package let alternatives: [Condition]
    /// Whether nothing matches, whatever the clauses say: `FALSEPREDICATE`.
    package let isNever: Bool

    init(clauses: [Clause], alternatives: [Condition] = [], isNever: Bool = false) {
        (self.clauses, self.alternatives, self.isNever) = (clauses, alternatives, isNever)
    }

    init(_ condition: Condition) {
        let parts = if case .all(let parts) = condition { parts } else { [condition] }
        var (clauses, alternatives) = ([Clause](), [Condition]())
        for part in parts {
            if case .clause(let clause) = part { clauses.append(clause) } else { alternatives.append(part) }
        }
        self.init(
            clauses: clauses, alternatives: condition == .never ? [] : alternatives, isNever: condition == .never)
    }

    /// Matches every record.
    package static let always = RecordPredicate(clauses: [])

    /// Reads the text of an `NSPredicate`, as in `title BEGINSWITH 'H' AND stars > 3`.
    ///
    /// Takes time in proportion to the text.
    ///
    /// - Throws: The first thing wrong, with its byte offset.
    package init(text: String) throws(PredicateError) { self = try PredicateReader().read(text: text).predicate }

    /// Reads `filterBy` of a CloudKit Web Services query: an array of filter dictionaries.
    ///
    /// - Throws: The first thing wrong, with a path that starts at `filterBy`.
    package init(filterBy: JSONValue) throws(PredicateError) {
        self = try PredicateReader().read(filterBy: filterBy).predicate
    }

    /// Whether the predicate holds for a dictionary of CloudKit fields: `{"title":{"value":"Hi","type":"STRING"}}`.
    ///
    /// - Parameters:
    ///   - fields: nil or anything but an object counts as a record without fields.
    ///   - record: The record dictionary, for system fields: `{"recordName":…,"created":{"timestamp":…},…}`.
    ///   - now: What `now()` means, in milliseconds since 1970; where it is nil, no comparison with that holds.
    package func matches(_ fields: JSONValue?, of record: JSONValue? = nil, now: Int64? = nil) -> Bool {
        let view = RecordView(record: record, fields: fields, now: now)
        return !isNever && clauses.allSatisfy { view.holds($0) } && alternatives.allSatisfy { view.holds($0) }
    }
}

/// What a predicate may be at most; a larger one is refused, never half read.
package enum PredicateLimits {
    /// Bytes of a predicate's text.
    package static let textBytesMax = 100 << 10
    /// Comparisons in one predicate.
    package static let clausesMax = 10_000
    /// Values in one list, as in `IN`.
    package static let valuesMax = 1_000
    /// Different words in one search.
    package static let wordsMax = 100
    /// Parentheses inside each other; NOTs may be any number.
    package static let depthMax = 128
}
