/// The comparators of `filterBy` (CloudKit JS: CloudKit.QueryFilterComparator).
package enum FilterComparators {
    package static var names: [String] { byName.keys.sorted() }

    static let byName: [String: (comparator: Clause.Comparator, isNegated: Bool)] = [
        "EQUALS": (.equals, false),
        "NOT_EQUALS": (.equals, true),
        "LESS_THAN": (.lessThan, false),
        "LESS_THAN_OR_EQUALS": (.lessThanOrEquals, false),
        "GREATER_THAN": (.greaterThan, false),
        "GREATER_THAN_OR_EQUALS": (.greaterThanOrEquals, false),
        "IN": (.isIn, false),
        "NOT_IN": (.isIn, true),
        "NEAR": (.isNear, false),
        "CONTAINS_ALL_TOKENS": (.containsAllWords, false),
        "CONTAINS_ANY_TOKENS": (.containsAnyWord, false),
        "LIST_CONTAINS": (.listContains, false),
        "NOT_LIST_CONTAINS": (.listContains, true),
        "LIST_CONTAINS_ANY": (.listContainsAny, false),
        "NOT_LIST_CONTAINS_ANY": (.listContainsAny, true),
        "LIST_CONTAINS_ALL": (.listContainsAll, false),
        "NOT_LIST_CONTAINS_ALL": (.listContainsAll, true),
        "BEGINS_WITH": (.beginsWith, false),
        "NOT_BEGINS_WITH": (.beginsWith, true),
        "LIST_MEMBER_BEGINS_WITH": (.listMemberBeginsWith, false),
        "NOT_LIST_MEMBER_BEGINS_WITH": (.listMemberBeginsWith, true),
    ]

    /// The comparator's name in `filterBy`; nil if `filterBy` does not have the comparator.
    static func name(of comparator: Clause.Comparator, isNegated: Bool) -> String? {
        if comparator == .exists { return "NOT_EQUALS" }
        return byName.first { $0.value == (comparator, isNegated) }?.key
    }
}
