import JSON

/// A part of a valid predicate that can never be true, or is true only for an empty list: probably a mistake.
package struct PredicateWarning: Sendable, Hashable {
    /// A position in a query.
    package struct Position: Sendable, Hashable {
        /// `predicate`, or a filter such as `filterBy[1]`.
        package var path: String
        /// The byte offset in the predicate's text; nil for `filterBy`.
        package var offset: Int?

        package init(path: String, offset: Int?) { (self.path, self.offset) = (path, offset) }
    }

    /// A stable word for programs: `predicate.never` for a predicate that can never be true, `predicate.never_side` for
    /// a side of an OR that can never be true, `predicate.only_empty` for a comparison that, by itself or together with
    /// other comparisons, only an empty list satisfies.
    package var code: String
    package var position: Position
    /// A sentence that describes the contradiction.
    package var reason: String

    package init(code: String, position: Position, reason: String) {
        (self.code, self.position, self.reason) = (code, position, reason)
    }
}

extension PredicateWarning {
    /// The reason for `FALSEPREDICATE`, `NOT TRUEPREDICATE` and `distance < 0`.
    static let falsePart = "a part of it is false for every record"

    static func never(_ reason: String, at position: Position) -> PredicateWarning {
        PredicateWarning(
            code: "predicate.never", position: position, reason: "the predicate can never be true: \(reason)")
    }

    static func neverSide(_ reason: String, at position: Position) -> PredicateWarning {
        PredicateWarning(
            code: "predicate.never_side", position: position, reason: "this side of OR can never be true: \(reason)")
    }

    static func onlyEmpty(_ reason: String, at position: Position) -> PredicateWarning {
        PredicateWarning(
            code: "predicate.only_empty", position: position, reason: "only an empty list satisfies this: \(reason)")
    }

    /// See ``PredicateError/queryReason(in:)``.
    package func queryReason(in query: JSONValue) -> String {
        PredicateError(code: code, offset: position.offset, reason: reason).queryReason(in: query)
    }
}

extension PredicateWarning: CustomStringConvertible {
    package var description: String {
        position.offset.map { "\(reason) (at byte \($0) of the predicate)" } ?? "\(position.path): \(reason)"
    }
}
