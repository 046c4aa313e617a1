/// A subscription that a source took, for the answer to its producer. The host adds the sequence from which it is active.
public struct SavedSubscription: Hashable, Sendable {
    /// Something about it that is allowed and surely not meant.
    public struct Warning: Hashable, Sendable {
        /// A stable word for programs, such as `predicate.never`.
        public var code: String
        /// Where in the command, as a dotted path: `subscription.query.predicate`.
        public var path: String
        /// Byte offset in a predicate's text; nil for anything else.
        public var offset: Int?
        /// A sentence; where there is an offset, with the place in the text and a caret under it on two more lines.
        public var reason: String

        /// Made by a source when it takes a subscription.
        public init(code: String, path: String, offset: Int? = nil, reason: String) {
            (self.code, self.path, self.offset, self.reason) = (code, path, offset, reason)
        }
    }

    /// As the producer named it.
    public var subscriptionID: String
    /// Empty where nothing is odd.
    public var warnings: [Warning]

    /// Made by a source when it takes a subscription.
    public init(subscriptionID: String, warnings: [Warning] = []) {
        (self.subscriptionID, self.warnings) = (subscriptionID, warnings)
    }
}
