import Predicates

/// A range of ``OrderKey``s, from `lower` up to but not including `upper`.
struct KeyRange: Hashable, Sendable {
    let lower: [UInt8]
    let upper: [UInt8]

    static func only(_ key: [UInt8]) -> KeyRange { KeyRange(lower: key, upper: key + [0]) }

    /// All keys that begin with these bytes.
    static func prefix(_ start: [UInt8]) -> KeyRange { KeyRange(lower: start, upper: start.successor) }

    /// The ranges that contain the keys of all records for which the comparison is true. They may also contain the keys
    /// of other records, so the predicate is evaluated for each record. Nil if ranges cannot express the comparison.
    ///
    /// - Parameter now: The value of `now()`, in milliseconds since 1970.
    static func ranges(_ clause: Clause, now: Int64) -> [KeyRange]? {
        guard !clause.isNegated, !clause.foldsCase, clause.subject.hasComparableKeys else { return nil }
        let keys = clause.values.compactMap { $0.orderKey(now: now) }
        guard keys.count == clause.values.count else { return nil }
        switch clause.comparator {
        case .equals, .isIn: return Set(keys).map { only($0) }
        case .beginsWith: return keys.map { prefix($0) }
        case .lessThan, .lessThanOrEquals: return keys.map { KeyRange(lower: [$0[0]], upper: $0 + [0]) }
        case .greaterThan, .greaterThanOrEquals: return keys.map { KeyRange(lower: $0, upper: [$0[0] + 1]) }
        default: return nil
        }
    }
}

extension Clause.Subject {
    /// Whether the keys of a clause's values can be compared with the keys of records.
    var hasComparableKeys: Bool {
        switch self {
        case .field: true
        // The key of a change tag is a number, but predicates compare change tags as text.
        case .system(let field): field != .recordChangeTag
        case .allText: false
        }
    }

    /// The name in the table of indexes. No app's field begins with an underscore.
    var indexName: String {
        switch self {
        case .field(let name): name
        case .system(let field): "_" + field.rawValue
        case .allText: "_"
        }
    }

    init?(indexName: String) {
        guard indexName.hasPrefix("_") else {
            self = .field(indexName)
            return
        }
        guard let field = SystemField(rawValue: String(indexName.dropFirst())) else { return nil }
        self = .system(field)
    }
}

extension FieldValue {
    /// The key of the value; nil if the value has no order, or can be equal to values of several kinds.
    fileprivate func orderKey(now: Int64) -> [UInt8]? {
        switch self {
        case .integer(let number): OrderKey.of(number)
        case .double(let number): OrderKey.of(number)
        case .now: OrderKey.of(now)
        case .text(let text): OrderKey.of(.text, text)
        case .reference(let name): OrderKey.of(.reference, name)
        case .bytes, .circle: nil
        }
    }
}
