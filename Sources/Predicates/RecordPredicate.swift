import JSON

/// A condition on a record's fields: comparisons that must all hold.
///
/// It has one form, whichever way it was written: as `filterBy` of CloudKit Web Services or as the text of an
/// `NSPredicate`. CloudKit knows no OR, and neither does this. What all comparisons share:
///
/// - A comparison with a field that the record lacks is false, negated ones too; so is one between different types.
/// - Strings compare by their UTF-8 bytes, never by canonical equivalence. In `filterBy` they compare exactly. In text,
///   `BEGINSWITH` compares exactly and everything else ignores case (CloudKit: CKQuery), by each Unicode scalar's
///   lower-case mapping.
/// - Whole numbers compare exactly over 64 bits, and exactly with doubles too. Timestamps are numbers: milliseconds
///   since 1970. Truth values are 1 and 0.
/// - References are equal when their record names are. Bytes compare as their base64 text.
public struct RecordPredicate: Sendable, Hashable {
    /// What must hold, in the order it was written; empty when everything matches.
    package let clauses: [Clause]
    /// Whether nothing matches, whatever the clauses say: `FALSEPREDICATE`.
    package let isNever: Bool

    init(clauses: [Clause], isNever: Bool = false) {
        self.clauses = clauses
        self.isNever = isNever
    }

    /// Matches every record.
    public static let always = RecordPredicate(clauses: [])

    /// Reads the text of an `NSPredicate`, as in `title BEGINSWITH 'H' AND stars > 3`.
    ///
    /// Takes time in proportion to the text.
    ///
    /// - Throws: The first thing wrong, with its byte offset.
    public init(text: String) throws(PredicateError) {
        self = try TextParser.predicate(text)
    }

    /// Reads `filterBy` of a CloudKit Web Services query: an array of filter dictionaries.
    ///
    /// - Throws: The first thing wrong, with a path that starts at `filterBy`.
    public init(filterBy: JSONValue) throws(PredicateError) {
        self.init(clauses: try FilterReader.clauses(filterBy))
    }

    /// Whether the predicate holds for a dictionary of CloudKit fields: `{"title":{"value":"Hi","type":"STRING"}}`.
    ///
    /// - Parameter fields: nil or anything but an object counts as a record without fields.
    public func matches(_ fields: JSONValue?) -> Bool {
        guard !isNever else { return false }
        return clauses.allSatisfy { $0.holds(for: FieldView(field: fields?.member($0.field))) }
    }
}

/// What a predicate may be at most; a larger one is refused, never half read.
public enum PredicateLimits {
    /// Bytes of a predicate's text.
    public static let textBytesMax = 100 << 10
    /// Comparisons in one predicate.
    public static let clausesMax = 10_000
    /// Values in one list, as in `IN`.
    public static let valuesMax = 1_000
    /// Parentheses and NOTs inside each other.
    public static let depthMax = 128
}
