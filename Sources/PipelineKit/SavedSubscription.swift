/// A subscription that a source accepted, as the answer to its producer describes it. The host adds the sequence from
/// which the subscription is active.
public struct SavedSubscription: Hashable, Sendable {
    /// An allowed but probably unintended property of the subscription.
    public struct Warning: Hashable, Sendable {
        /// A stable word for programs, such as `predicate.never`.
        public var code: String
        /// The place in the command, as a dotted path: `subscription.query.predicate`.
        public var path: String
        /// The byte offset in a predicate's text, if the warning is about a place there; otherwise nil.
        public var offset: Int?
        /// A sentence. If there is an offset, two more lines follow: the predicate's text around the place, and a caret
        /// under the place.
        public var reason: String

        /// A source calls this when it accepts a subscription.
        public init(code: String, path: String, offset: Int? = nil, reason: String) {
            (self.code, self.path, self.offset, self.reason) = (code, path, offset, reason)
        }
    }

    /// The ID that the producer gave the subscription.
    public var subscriptionID: String
    /// The warnings; empty if nothing is unusual.
    public var warnings: [Warning]

    /// A source calls this when it accepts a subscription.
    public init(subscriptionID: String, warnings: [Warning] = []) {
        (self.subscriptionID, self.warnings) = (subscriptionID, warnings)
    }
}
