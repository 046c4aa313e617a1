import Predicates

/// A query subscription by what names it, for people and for tools.
package struct SavedQuery: Sendable {
    package let container: String
    package let environment: String
    package let database: String
    package let user: String
    package let subscriptionID: String
    package let recordType: String
    /// The sequence of the event that saved it.
    package let savedAt: UInt64
    /// As text, whichever way it was written.
    package let predicate: String

    init(_ stored: SubscriptionIndex.Stored) {
        func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
        let (subscription, identity) = (stored.subscription, stored.subscription.identity)
        container = text(identity.container)
        environment = text(identity.environment)
        database = identity.database.rawValue
        user = text(identity.user)
        subscriptionID = text(identity.subscriptionID)
        recordType = text(subscription.recordType ?? [])
        savedAt = stored.saved
        predicate = subscription.predicate.text
    }
}

extension MatchStage {
    /// How many subscriptions are saved.
    package var subscriptionCount: Int { index.count }

    /// The subscriptions that can never match, each with the reason, in the order in which they were saved.
    package var neverTrue: [(query: SavedQuery, reason: String)] {
        index.all.compactMap { stored in
            stored.subscription.predicate.contradiction.map { (SavedQuery(stored), $0) }
        }
    }
}
