import JSON
import Predicates

/// A query subscription by what names it, for people and for tools.
struct SavedQuery: Sendable {
    let container: String
    let environment: String
    let database: String
    let user: String
    let subscriptionID: String
    let recordType: String
    /// The sequence of the event that saved it.
    let savedAt: UInt64
    /// As text, whichever way it was written.
    let predicate: String

    init(_ subscription: Subscription, _ saved: UInt64) {
        let identity = subscription.identity
        container = identity.container.string ?? ""
        environment = identity.environment.string ?? ""
        database = identity.database.rawValue
        user = identity.user.string ?? ""
        subscriptionID = identity.subscriptionID.string ?? ""
        recordType = subscription.recordType?.string ?? ""
        savedAt = saved
        predicate = subscription.predicate.text
    }

    /// Whose changes concern the same subscriptions.
    struct Place: Hashable {
        let container: String
        let environment: String
        let database: String
        let owner: String
        let recordType: String
    }

    var place: Place {
        Place(
            container: container, environment: environment, database: database,
            owner: database == Database.public.rawValue ? "" : user, recordType: recordType)
    }
}

extension MatchStage {
    /// How many subscriptions are saved.
    var subscriptionCount: Int { index.count }

    /// The subscriptions that can never match, by the reason, in the order in which the first was saved.
    var neverTrue: [(group: QueryGroup, reason: String)] {
        var (groups, numbers) = ([(group: QueryGroup, reason: String)](), [QueryGroup.Key: Int]())
        for found in index.savedOrder {
            let never = index.store.withSubscription(found.slot) { subscription in
                subscription.predicate.contradiction.map { (SavedQuery(subscription, found.saved), $0) }
            }
            guard let (query, reason) = never else { continue }
            let key = QueryGroup.Key(query, shape: [reason])
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
