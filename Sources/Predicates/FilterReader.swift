import JSON

/// Reads `filterBy` (CloudKit Web Services Reference: Filter Dictionary).
enum FilterReader {
    static func clauses(_ filterBy: JSONValue) throws(PredicateError) -> [Clause] {
        guard filterBy.isArray else {
            throw PredicateError(code: "predicate.type", path: "filterBy", reason: "filterBy is an array of filters")
        }
        guard filterBy.count <= PredicateLimits.clausesMax else {
            throw PredicateError(
                code: "predicate.limit", path: "filterBy",
                reason: "\(filterBy.count) filters, over the limit of \(PredicateLimits.clausesMax)")
        }
        var clauses: [Clause] = []
        clauses.reserveCapacity(filterBy.count)
        for filter in filterBy.elements {
            clauses.append(try clause(filter, path: "filterBy[\(clauses.count)]"))
        }
        return clauses
    }

    private static func clause(_ filter: JSONValue, path: String) throws(PredicateError) -> Clause {
        guard filter.isObject else {
            throw PredicateError(code: "predicate.type", path: path, reason: "a filter is an object")
        }
        let (comparator, isNegated) = try comparator(filter, path: path)
        let field = try fieldName(filter, path: path)
        let values = try FilterValueReader.values(filter["fieldValue"], for: comparator, path: path + ".fieldValue")
        return Clause(field: field, comparator, values, foldsCase: false, isNegated: isNegated)
    }

    private static func fieldName(_ filter: JSONValue, path: String) throws(PredicateError) -> String {
        guard filter["systemFieldName"] == nil else {
            throw PredicateError(
                code: "predicate.not_yet", path: path + ".systemFieldName",
                reason: "system fields are not supported yet: compare a field of the record")
        }
        guard let name = filter["fieldName"]?.string, !name.isEmpty else {
            throw PredicateError(
                code: "predicate.missing", path: path + ".fieldName", reason: "a filter names a field: a string")
        }
        return name
    }

    private static func comparator(
        _ filter: JSONValue, path: String
    ) throws(PredicateError) -> (Clause.Comparator, Bool) {
        let path = path + ".comparator"
        guard let name = filter["comparator"]?.string else {
            throw PredicateError(
                code: "predicate.missing", path: path, reason: "a filter has a comparator, such as \"EQUALS\"")
        }
        guard !["NEAR", "CONTAINS_ALL_TOKENS", "CONTAINS_ANY_TOKENS"].contains(name) else {
            throw PredicateError(code: "predicate.not_yet", path: path, reason: "\(name) is not supported yet")
        }
        guard let comparator = comparators[name] else {
            throw PredicateError(
                code: "predicate.unsupported", path: path,
                reason:
                    "there is no comparator \"\(name)\"; there are \(comparators.keys.sorted().joined(separator: ", "))"
            )
        }
        return comparator
    }

    private static let comparators: [String: (Clause.Comparator, Bool)] = [
        "EQUALS": (.equals, false),
        "NOT_EQUALS": (.equals, true),
        "LESS_THAN": (.lessThan, false),
        "LESS_THAN_OR_EQUALS": (.lessThanOrEquals, false),
        "GREATER_THAN": (.greaterThan, false),
        "GREATER_THAN_OR_EQUALS": (.greaterThanOrEquals, false),
        "IN": (.isIn, false),
        "NOT_IN": (.isIn, true),
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
}
