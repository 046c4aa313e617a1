import Predicates

/// Subscriptions that are looked at for every change of their record type, because nothing that they ask for narrows
/// them; all in one kind of database, to one record type, and of the same shape.
struct UnindexedSubscriptions: Sendable {
    /// A part of the predicate, all of which must hold.
    struct Part: Sendable {
        /// As it would stand in a predicate's text; without its values where they differ.
        fileprivate(set) var text: String
        /// The same without its values.
        let shape: String
        /// Why the index has no place for it.
        let reason: String
        /// What to write instead, where there is something.
        let instead: String?
    }

    fileprivate(set) var group: QueryGroup
    fileprivate(set) var parts: [Part]
    /// How many unindexed subscriptions, of whatever shape, are looked at for a change in the place that has most.
    fileprivate(set) var lookedAt = 1
}

extension MatchStage {
    /// The subscriptions that no part of their predicate narrows: those that most are looked at with first, then in the
    /// order in which they were saved. One without a predicate asks for every record, and is none of them.
    var unindexed: [UnindexedSubscriptions] {
        var (groups, numbers) = ([UnindexedSubscriptions](), [QueryGroup.Key: Int]())
        var lists: [SavedQuery.Place: Int] = [:]
        var places: [Set<SavedQuery.Place>] = []
        for found in index.savedOrder where index.store[found.slot].isScanned {
            let (query, parts) = index.store.withSubscription(found.slot) { subscription in
                (SavedQuery(subscription, found.saved), UnindexedSubscriptions.parts(subscription.predicate))
            }
            lists[query.place, default: 0] += 1
            let key = QueryGroup.Key(query, shape: parts.map(\.shape))
            if let number = numbers[key] {
                groups[number].add(query, parts)
                places[number].insert(query.place)
            } else {
                numbers[key] = groups.count
                groups.append(UnindexedSubscriptions(group: QueryGroup(query), parts: parts))
                places.append([query.place])
            }
        }
        for number in groups.indices { groups[number].lookedAt = places[number].compactMap { lists[$0] }.max() ?? 1 }
        return groups.sorted { ($1.lookedAt, $0.group.first.savedAt) < ($0.lookedAt, $1.group.first.savedAt) }
    }
}

extension UnindexedSubscriptions {
    fileprivate static func parts(_ predicate: RecordPredicate) -> [Part] {
        predicate.clauses.map(Part.init) + predicate.alternatives.map(Part.init)
    }

    fileprivate mutating func add(_ query: SavedQuery, _ others: [Part]) {
        group.add(query)
        for number in parts.indices where parts[number].text != others[number].text {
            parts[number].text = parts[number].shape
        }
    }
}

extension UnindexedSubscriptions.Part {
    fileprivate init(_ clause: Clause) {
        self.init(
            text: clause.text, shape: clause.shape, reason: clause.unindexedReason, instead: clause.indexedInstead)
    }

    fileprivate init(_ alternative: Condition) {
        self.init(
            text: alternative.text, shape: alternative.shape,
            reason: "one side or the other may hold, and one of them nothing narrows",
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
