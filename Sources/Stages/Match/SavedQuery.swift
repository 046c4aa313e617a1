import JSON
import Predicates

/// A query subscription as findings describe it.
struct SavedQuery: Sendable {
    let container: String
    let environment: String
    let database: String
    let user: String
    let subscriptionID: String
    let recordType: String
    /// The sequence of the `subscription.save`.
    let savedAt: UInt64
    /// The predicate as text, even if the subscription has a `filterBy`.
    let predicate: String

    init(_ subscription: Subscription, _ savedAt: UInt64) {
        let identity = subscription.identity
        container = identity.container.string ?? ""
        environment = identity.environment.string ?? ""
        database = "\(identity.database.word)"
        user = identity.user.string ?? ""
        subscriptionID = identity.subscriptionID.string ?? ""
        recordType = subscription.recordType?.string ?? ""
        self.savedAt = savedAt
        predicate = subscription.predicate.text
    }

    /// Identifies the query's ``QueryGroup``. All queries of a group have the same key.
    ///
    /// - Parameter more: What the queries of the group also share: the shapes of their predicates' parts, or the reason
    ///   why they can never match.
    func groupKey(_ more: [String]) -> [String] { [container, environment, database, recordType] + more }

    /// The database and the record type. A change can only match subscriptions with its database and record type.
    var databaseAndType: [String] { [container, environment, database, database == "public" ? "" : user, recordType] }
}

extension MatchStage {
    var subscriptionCount: Int { index.count }

    /// The subscriptions that can never match, in groups of similar queries with the same reason. The groups are in the
    /// order of their first saves. Only subscriptions that certainly never match are listed.
    var neverTrue: [(group: QueryGroup, reason: String)] {
        var (groups, numbers) = ([(group: QueryGroup, reason: String)](), [[String]: Int]())
        for found in index.savedOrder {
            let never = index.store.withSubscription(found.slot) { subscription in
                subscription.predicate.contradiction.map { (SavedQuery(subscription, found.savedAt), $0) }
            }
            guard let (query, reason) = never else { continue }
            let key = query.groupKey([reason])
            if let number = numbers[key] {
                groups[number].group.add(query)
            } else {
                numbers[key] = groups.count
                groups.append((QueryGroup(query), reason))
            }
        }
        return groups
    }
}
