import JSON

/// Something about a predicate that is allowed and surely not meant.
public struct PredicateWarning: Sendable, Hashable {
    /// Where in a query.
    public struct Place: Sendable, Hashable {
        /// `predicate`, or a filter such as `filterBy[1]`.
        public var path: String
        /// Byte offset in the predicate's text; nil for `filterBy`.
        public var offset: Int?

        public init(path: String, offset: Int?) { (self.path, self.offset) = (path, offset) }
    }

    /// A stable word for programs. So far there is one: `predicate.never`, for what can never be true.
    public var code: String
    public var place: Place
    /// A sentence.
    public var reason: String

    public init(code: String, place: Place, reason: String) {
        (self.code, self.place, self.reason) = (code, place, reason)
    }
}

extension PredicateWarning {
    /// The reason; for a predicate's text with the place, and on two more lines that place and a caret under it.
    public func queryReason(in query: JSONValue) -> String {
        PredicateError(code: code, offset: place.offset, reason: reason).queryReason(in: query)
    }
}

extension PredicateWarning: CustomStringConvertible {
    public var description: String {
        place.offset.map { "\(reason) (at byte \($0) of the predicate)" } ?? "\(place.path): \(reason)"
    }
}
