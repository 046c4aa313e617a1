import Predicates

/// A subscription that is looked at for every change of its record type, because nothing that it asks for narrows it.
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
    package fileprivate(set) var lookedAt = 1
}

extension MatchStage {
    /// The subscriptions that no part of their predicate narrows: those that most are looked at with first, then in the
    /// order in which they were saved. One without a predicate asks for every record, and is none of them.
    package var unindexed: [UnindexedSubscription] {
        var found = index.savedOrder.filter { index.store[$0.slot].isScanned }.map { found in
            index.store.withSubscription(found.slot) { UnindexedSubscription($0, found.saved) }
        }
        let lists = Dictionary(grouping: found, by: \.query.place).mapValues(\.count)
        for number in found.indices { found[number].lookedAt = lists[found[number].query.place] ?? 1 }
        found.sort { ($1.lookedAt, $0.query.savedAt) < ($0.lookedAt, $1.query.savedAt) }
        return found
    }
}

extension UnindexedSubscription {
    fileprivate init(_ subscription: Subscription, _ saved: UInt64) {
        query = SavedQuery(subscription, saved)
        let predicate = subscription.predicate
        parts = predicate.clauses.map(Part.init) + predicate.alternatives.map(Part.init)
    }
}

extension UnindexedSubscription.Part {
    fileprivate init(_ clause: Clause) {
        self.init(text: clause.text, reason: clause.unindexedReason, instead: clause.indexedInstead)
    }

    fileprivate init(_ alternative: Condition) {
        self.init(
            text: alternative.text, reason: "one side or the other may hold, and one of them nothing narrows",
            instead: "save a subscription for each side of OR")
    }
}

extension Clause {
    fileprivate var unindexedReason: String {
        if isNegated { return "it says what \(field) is not, which nearly every record fulfils" }
        return switch comparator {
        case .exists: "any value of \(field) will do"
        case .every: "it asks about all elements of \(field), and an empty list fulfils it"
        case .containsAnyWord, .containsAllWords: "it has no word that is looked for"
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
