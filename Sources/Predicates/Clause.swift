/// One comparison of a record's field with values that were given.
package struct Clause: Sendable, Hashable {
    package enum Comparator: Sendable, Hashable {
        case equals, lessThan, lessThanOrEquals, greaterThan, greaterThanOrEquals, isIn, beginsWith
        case listContains, listContainsAny, listContainsAll, listMemberBeginsWith
    }

    package let field: String
    package let comparator: Comparator
    /// One value, or a list for `isIn`, `listContainsAny` and `listContainsAll`; case-folded where `foldsCase`.
    package let values: [FieldValue]
    /// Whether strings compare without regard to case.
    package let foldsCase: Bool
    /// Never set for the four comparators that order: their opposite is one of them.
    package let isNegated: Bool

    init(field: String, _ comparator: Comparator, _ values: [FieldValue], foldsCase: Bool, isNegated: Bool = false) {
        let opposite = isNegated ? comparator.opposite : nil
        self.field = field
        self.comparator = opposite ?? comparator
        self.values = foldsCase ? values.map(\.caseFolded) : values
        self.foldsCase = foldsCase
        self.isNegated = isNegated && opposite == nil
    }

    /// Whether the comparison holds; never for a field that is missing or of another type.
    @inline(__always)
    package func holds(for view: FieldView) -> Bool {
        guard let outcome = compare(view) else { return false }
        return outcome != isNegated
    }

    /// Values of which the field must have one, as its value or as an element, for the clause to hold; nil where
    /// there is no such list.
    package var anchors: [FieldValue]? {
        guard !isNegated else { return nil }
        return switch comparator {
        case .equals, .isIn, .listContains, .listContainsAny: values
        case .listContainsAll: values.first.map { [$0] }
        default: nil
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
    var isOrdering: Bool { opposite != nil }

    var isPrefix: Bool { self == .beginsWith || self == .listMemberBeginsWith }

    /// Whether it takes a list of values.
    var takesList: Bool { self == .isIn || self == .listContainsAny || self == .listContainsAll }
}

// MARK: - Comparing

extension Clause {
    /// nil when the field has nothing that could be compared.
    @inline(__always)
    func compare(_ view: FieldView) -> Bool? {
        switch comparator {
        case .equals: view.order(values[0], foldsCase).map { $0 == 0 }
        case .lessThan: view.order(values[0], foldsCase).map { $0 < 0 }
        case .lessThanOrEquals: view.order(values[0], foldsCase).map { $0 <= 0 }
        case .greaterThan: view.order(values[0], foldsCase).map { $0 > 0 }
        case .greaterThanOrEquals: view.order(values[0], foldsCase).map { $0 >= 0 }
        case .isIn: isAnyValue(view)
        case .beginsWith: view.begins(with: values[0])
        default: compareList(view)
        }
    }

    private func isAnyValue(_ view: FieldView) -> Bool? {
        guard view.isScalar else { return nil }
        var some = values.isEmpty ? false : nil as Bool?
        for value in values {
            guard let order = view.order(value, foldsCase) else { continue }
            if order == 0 { return true }
            some = false
        }
        return some
    }

    private func compareList(_ view: FieldView) -> Bool? {
        switch comparator {
        case .listContains: view.anyElement { $0.order(values[0], foldsCase).map { $0 == 0 } }
        case .listContainsAny: view.anyElement { isAnyValue($0) }
        case .listMemberBeginsWith: view.anyElement { $0.begins(with: values[0]) }
        default: containsAll(view)
        }
    }

    private func containsAll(_ view: FieldView) -> Bool? {
        guard case .list = view else { return nil }
        for value in values {
            guard let isHeld = contains(value, view) else { return nil }
            if !isHeld { return false }
        }
        return true
    }

    // Apart from the loop: the optimizer of Swift 6.3 crashes on the two together.
    @inline(never)
    private func contains(_ value: FieldValue, _ view: FieldView) -> Bool? {
        view.anyElement { $0.order(value, foldsCase).map { $0 == 0 } }
    }
}
