/// One comparison of a part of a record with given values.
package struct Clause: Sendable, Hashable {
    package enum Comparator: Sendable, Hashable {
        case equals, lessThan, lessThanOrEquals, greaterThan, greaterThanOrEquals, isIn, beginsWith
        case listContains, listContainsAny, listContainsAll, listMemberBeginsWith
        /// Whether the field has a value of any type. A clause with this comparator has no values.
        case exists
        /// Whether a location is inside a ``Circle``. The circle is the clause's only value.
        case isNear
        /// Whether a text contains at least one of the given words, or all of them.
        case containsAnyWord, containsAllWords
        /// Whether each element of a list passes a test; true for an empty list. Only in extended predicates.
        case every(Test)
    }

    /// A comparator for the elements of a list.
    package enum Test: Sendable, Hashable {
        case equals, lessThan, lessThanOrEquals, greaterThan, greaterThanOrEquals, isIn, beginsWith
    }

    package let subject: Subject
    package let comparator: Comparator
    /// Whether strings are compared ignoring case. Always false if no value is a string. Also always false for
    /// `beginsWith`, `every(.beginsWith)`, `listMemberBeginsWith` and searches for words.
    package let foldsCase: Bool
    /// Whether the result of the comparison is negated. Never true for `lessThan`, `lessThanOrEquals`, `greaterThan`
    /// and `greaterThanOrEquals`, because the opposite comparator takes their place.
    package let isNegated: Bool
    /// The values that the field is compared with. Only `isIn`, `every(.isIn)`, `listContainsAny`, `listContainsAll`
    /// and searches for words may have several values. Strings are in lower case if `foldsCase` is true.
    package let values: [FieldValue]
    /// A sorted copy of ``values``, for comparators that take a list. Nil if there are few values, or if one of them
    /// has no order.
    let sortedValues: SortedValues?

    init(_ subject: Subject, _ comparator: Comparator, _ values: [FieldValue], foldsCase: Bool, isNegated: Bool = false)
    {
        let opposite = isNegated ? comparator.opposite : nil
        let foldsCase = foldsCase && !comparator.comparesExactly && values.contains(where: \.isText)
        self.subject = subject
        self.comparator = opposite ?? comparator
        self.values = foldsCase ? values.map(\.caseFolded) : values
        self.foldsCase = foldsCase
        self.isNegated = isNegated && opposite == nil
        sortedValues = comparator.takesList ? SortedValues(self.values) : nil
    }

    /// A clause with a part of the values of another clause.
    init(_ clause: Clause, _ values: [FieldValue], _ sortedValues: SortedValues?) {
        (subject, comparator) = (clause.subject, clause.comparator)
        (foldsCase, isNegated) = (clause.foldsCase, clause.isNegated)
        (self.values, self.sortedValues) = (values, sortedValues)
    }

    init(field: String, _ comparator: Comparator, _ values: [FieldValue], foldsCase: Bool, isNegated: Bool = false) {
        self.init(.field(field), comparator, values, foldsCase: foldsCase, isNegated: isNegated)
    }

    /// Replaces `now()` by a time in milliseconds since 1970, the unit of timestamp fields. Keeps `now()` if the time
    /// is nil.
    func at(_ now: Int64?) -> Clause {
        guard case .now? = values.first, let now else { return self }
        return Clause(subject, comparator, [.integer(now)], foldsCase: false, isNegated: isNegated)
    }

    /// The subject's name in a predicate's text: a field, a system field or `self`.
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

    /// The comparator that has the same meaning after both sides were exchanged; nil if there is no such comparator.
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

    /// Whether the comparator compares by order.
    var isOrdering: Bool { element?.opposite != nil || opposite != nil }

    var isPrefix: Bool { self == .beginsWith || self == .listMemberBeginsWith || self == .every(.beginsWith) }

    var isWordSearch: Bool { self == .containsAnyWord || self == .containsAllWords }

    // CKQuery: BEGINSWITH is case-sensitive, all other comparisons of strings are not. The words of a search are
    // folded when the predicate is read.
    var comparesExactly: Bool { isPrefix || isWordSearch }

    /// Whether the comparator takes a list of values.
    var takesList: Bool {
        switch self {
        case .isIn, .listContainsAny, .listContainsAll, .every(.isIn): true
        default: false
        }
    }

    /// Whether the comparator is for fields with lists.
    var isForLists: Bool {
        switch self {
        case .listContains, .listContainsAny, .listContainsAll, .listMemberBeginsWith, .every: true
        default: false
        }
    }

    /// The comparator that `every` applies to each element; nil for other comparators.
    var element: Clause.Comparator? {
        guard case .every(let test) = self else { return nil }
        return Clause.Comparator.tests.first { $0.test == test }?.comparator
    }

    /// The same comparator as a test for `every`; nil if `every` has no such test.
    var test: Clause.Test? { Clause.Comparator.tests.first { $0.comparator == self }?.test }

    private static let tests: [(comparator: Clause.Comparator, test: Clause.Test)] = [
        (.equals, .equals), (.lessThan, .lessThan), (.lessThanOrEquals, .lessThanOrEquals),
        (.greaterThan, .greaterThan), (.greaterThanOrEquals, .greaterThanOrEquals), (.isIn, .isIn),
        (.beginsWith, .beginsWith),
    ]
}
