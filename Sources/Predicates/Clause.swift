/// One comparison of a part of a record with values that were given.
package struct Clause: Sendable, Hashable {
    package enum Comparator: Sendable, Hashable {
        case equals, lessThan, lessThanOrEquals, greaterThan, greaterThanOrEquals, isIn, beginsWith
        case listContains, listContainsAny, listContainsAll, listMemberBeginsWith
        /// Whether there is a value, of whatever type; it takes none.
        case exists
        /// Whether a location lies in a ``Circle``, its only value.
        case isNear
        /// Whether a text has one, or all, of the words given.
        case containsAnyWord, containsAllWords
        /// Whether each element of a list passes a test; of an empty list each does. Extended predicates only.
        case every(Test)
    }

    /// A comparator for a list's elements.
    package enum Test: Sendable, Hashable {
        case equals, lessThan, lessThanOrEquals, greaterThan, greaterThanOrEquals, isIn, beginsWith
    }

    package let subject: Subject
    package let comparator: Comparator
    /// One value, or a list for `isIn`, `listContainsAny`, `listContainsAll` and words; case-folded where `foldsCase`.
    package let values: [FieldValue]
    /// Whether strings compare without regard to case. Never set where no value is a string, nor for beginnings.
    package let foldsCase: Bool
    /// Never set for the four comparators that order: their opposite is one of them.
    package let isNegated: Bool

    init(_ subject: Subject, _ comparator: Comparator, _ values: [FieldValue], foldsCase: Bool, isNegated: Bool = false)
    {
        let opposite = isNegated ? comparator.opposite : nil
        let foldsCase = foldsCase && !comparator.heedsCase && values.contains(where: \.isText)
        self.subject = subject
        self.comparator = opposite ?? comparator
        self.values = foldsCase ? values.map(\.caseFolded) : values
        self.foldsCase = foldsCase
        self.isNegated = isNegated && opposite == nil
    }

    init(field: String, _ comparator: Comparator, _ values: [FieldValue], foldsCase: Bool, isNegated: Bool = false) {
        self.init(.field(field), comparator, values, foldsCase: foldsCase, isNegated: isNegated)
    }

    /// The same with `now()` replaced by a time, in milliseconds as fields have them.
    func at(_ now: Int64?) -> Clause {
        guard case .now? = values.first, let now else { return self }
        return Clause(subject, comparator, [.integer(now)], foldsCase: false, isNegated: isNegated)
    }

    /// What the subject is called: a field's name, a system field's in text, `self` for all text.
    package var field: String {
        switch subject {
        case .field(let name): name
        case .system(let field): field.rawValue
        case .allText: "self"
        }
    }
}

extension Clause.Comparator {
    var opposite: Clause.Comparator? {
        switch self {
        case .lessThan: .greaterThanOrEquals
        case .lessThanOrEquals: .greaterThan
        case .greaterThan: .lessThanOrEquals
        case .greaterThanOrEquals: .lessThan
        default: nil
        }
    }

    /// The comparator that says the same with its sides exchanged.
    var mirrored: Clause.Comparator? {
        switch self {
        case .equals: .equals
        case .lessThan: .greaterThan
        case .lessThanOrEquals: .greaterThanOrEquals
        case .greaterThan: .lessThan
        case .greaterThanOrEquals: .lessThanOrEquals
        default: nil
        }
    }

    /// Whether it asks for one value to come before another.
    var isOrdering: Bool { element?.opposite != nil || opposite != nil }

    var isPrefix: Bool { self == .beginsWith || self == .listMemberBeginsWith || self == .every(.beginsWith) }

    var isWordSearch: Bool { self == .containsAnyWord || self == .containsAllWords }

    // CKQuery: BEGINSWITH is case-sensitive, all other comparisons of strings are not. Words are folded when they are
    // cut.
    var heedsCase: Bool { isPrefix || isWordSearch }

    /// Whether it takes a list of values.
    var takesList: Bool {
        switch self {
        case .isIn, .listContainsAny, .listContainsAll, .every(.isIn): true
        default: false
        }
    }

    /// Whether it asks for a list.
    var isForLists: Bool {
        switch self {
        case .listContains, .listContainsAny, .listContainsAll, .listMemberBeginsWith, .every: true
        default: false
        }
    }

    /// What is asked of each element; nil unless something is.
    var element: Clause.Comparator? {
        guard case .every(let test) = self else { return nil }
        return Clause.Comparator.tests.first { $0.test == test }?.comparator
    }

    /// What `every` asks of each element, for it to ask the same as this of a value; nil where there is no such test.
    var test: Clause.Test? { Clause.Comparator.tests.first { $0.comparator == self }?.test }

    private static let tests: [(comparator: Clause.Comparator, test: Clause.Test)] = [
        (.equals, .equals), (.lessThan, .lessThan), (.lessThanOrEquals, .lessThanOrEquals),
        (.greaterThan, .greaterThan), (.greaterThanOrEquals, .greaterThanOrEquals), (.isIn, .isIn),
        (.beginsWith, .beginsWith),
    ]
}
