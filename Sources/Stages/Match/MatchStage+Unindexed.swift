import JSON
import Predicates

/// A subscription that is looked at for every change of its record type, because nothing that it asks for has a place
/// in the index.
package struct UnindexedSubscription: Sendable {
    /// A part of the predicate, all of which must hold.
    package struct Part: Sendable {
        /// As it would stand in a predicate's text.
        package let text: String
        /// Why the index has no place for it.
        package let reason: String
        /// What to write instead, where there is something.
        package let instead: String?
    }

    package let query: SavedQuery
    package let parts: [Part]
    /// How many such subscriptions, with this one, are looked at for a change of the record type in the same place.
    package internal(set) var lookedAt = 1
}

extension MatchStage {
    /// The subscriptions that no part of their predicate narrows: those that most are looked at with first, then in the
    /// order in which they were saved. One without a predicate asks for every record, and is none of them.
    package var unindexed: [UnindexedSubscription] {
        let found = index.all.filter(\.isUnindexed)
        let lists = Dictionary(grouping: found, by: \.place).mapValues(\.count)
        var subscriptions = found.map { stored in
            var subscription = UnindexedSubscription(stored)
            subscription.lookedAt = lists[stored.place] ?? 1
            return subscription
        }
        subscriptions.sort { ($1.lookedAt, $0.query.savedAt) < ($0.lookedAt, $1.query.savedAt) }
        return subscriptions
    }
}

/// Whose changes lead to the same list.
private struct Place: Hashable {
    let container: [UInt8]
    let environment: [UInt8]
    let database: Database
    let owner: [UInt8]
    let recordType: [UInt8]
}

extension SubscriptionIndex.Stored {
    fileprivate var isUnindexed: Bool {
        let predicate = subscription.predicate
        guard subscription.subject == .query, !predicate.isNever else { return false }
        return !(predicate.clauses.isEmpty && predicate.alternatives.isEmpty)
            && predicate.clauses.allSatisfy { $0.whyUnindexed != nil }
    }

    fileprivate var place: Place {
        let identity = subscription.identity
        return Place(
            container: identity.container, environment: identity.environment, database: identity.database,
            owner: identity.database == .public ? [] : identity.user, recordType: subscription.recordType ?? [])
    }
}

extension UnindexedSubscription {
    fileprivate init(_ stored: SubscriptionIndex.Stored) {
        query = SavedQuery(stored)
        let predicate = stored.subscription.predicate
        parts =
            predicate.clauses.map {
                Part(text: $0.text, reason: $0.whyUnindexed ?? "", instead: $0.indexedInstead)
            } + predicate.alternatives.map(Part.init)
    }
}

extension UnindexedSubscription.Part {
    fileprivate init(_ alternative: Condition) {
        self.init(
            text: alternative.text, reason: "one side or the other may hold",
            instead: "save a subscription for each side of OR")
    }
}

extension Clause {
    /// Why no index finds the subscriptions with this clause; nil where one does.
    var whyUnindexed: String? {
        if anchors != nil { return nil }
        if isNegated { return "it says what \(field) is not, which nearly every record fulfils" }
        return switch comparator {
        case .exists: "any value of \(field) will do"
        case .every: "it asks about all elements of \(field), and an empty list fulfils it"
        case .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals: "a range has no place in the index"
        case .beginsWith, .listMemberBeginsWith: "a beginning has no place in the index"
        case .containsAnyWord, .containsAllWords: "words have no place in the index"
        case .isNear: "a distance has no place in the index"
        default: "it has no place in the index"
        }
    }

    fileprivate var indexedInstead: String? {
        switch comparator {
        case .equals where isNegated, .isIn where isNegated: "\(field) IN {…} with the values that are left"
        case .exists: "a field that the app sets for it, as in has_\(field) == 1"
        case .every: "ANY \(field) …, where one element is enough"
        default: nil
        }
    }
}
