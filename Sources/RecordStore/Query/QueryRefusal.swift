import Predicates

/// Why a query is refused.
package struct QueryRefusal: Error, Hashable, Sendable {
    /// A stable word for programs: `query.type`, `query.sort`, `query.limit`, `query.marker`, or a code of
    /// `PredicateError`.
    package let code: String
    /// The position in the request, such as `query.sortBy[0].fieldName`.
    package let path: String
    /// What is wrong with the query.
    package let reason: String

    init(_ code: String, at path: String, _ reason: String) {
        (self.code, self.path, self.reason) = (code, path, reason)
    }

    init(_ error: PredicateError) { self.init(error.code, at: "query." + error.queryPath, error.reason) }

    /// A marker that was altered or that belongs to another query.
    static let marker = QueryRefusal(
        "query.marker", at: "continuationMarker",
        "the marker does not belong to this query: send the marker of the query's last answer, or none to start again")
}
