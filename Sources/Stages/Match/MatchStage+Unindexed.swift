import Predicates

/// Subscriptions that are evaluated for nearly every change of their record type in the zones that they watch, because
/// the index can use no part of their predicate. All of the subscriptions have the same container, environment,
/// database (public, private or shared), record type and shape of predicate. Their users may differ.
struct UnindexedSubscriptions: Sendable {
    /// A part of a predicate. The predicate is true only if all of its parts are true.
    struct Part: Sendable {
        /// The text of the part. The values are left out if they differ within the group.
        fileprivate(set) var text: String
        /// The text of the part without its values.
        let shape: String
        /// Why the index cannot use the part.
        let reason: String
        /// What to write instead, if there is an alternative.
        let instead: String?
    }

    fileprivate(set) var group: QueryGroup
    fileprivate(set) var parts: [Part]
    /// How many unindexed subscriptions the stage must evaluate, in the worst case, for one change of the group's
    /// record type. Subscriptions of other shapes count too.
    fileprivate(set) var evaluatedPerChange = 1
}

extension MatchStage {
    /// The subscriptions whose predicates the index cannot use. The most expensive groups come first. Groups of the
    /// same cost are in the order of their first saves.
    ///
    /// Subscriptions without a condition are left out, because they match every record.
    var unindexed: [UnindexedSubscriptions] {
        var (groups, numbers) = ([UnindexedSubscriptions](), [[String]: Int]())
        var counts: [[String]: Int] = [:]
        var databasesAndTypes: [Set<[String]>] = []
        for found in index.savedOrder where index.store[found.slot].isUnindexed {
            let (query, parts) = index.store.withSubscription(found.slot) { subscription in
                (SavedQuery(subscription, found.savedAt), UnindexedSubscriptions.parts(subscription.predicate))
            }
            counts[query.databaseAndType, default: 0] += 1
            let key = query.groupKey(parts.map(\.shape))
            if let number = numbers[key] {
                groups[number].add(query, parts)
                databasesAndTypes[number].insert(query.databaseAndType)
            } else {
                numbers[key] = groups.count
                groups.append(UnindexedSubscriptions(group: QueryGroup(query), parts: parts))
                databasesAndTypes.append([query.databaseAndType])
            }
        }
        for number in groups.indices {
            groups[number].evaluatedPerChange = databasesAndTypes[number].compactMap { counts[$0] }.max() ?? 1
        }
        return groups.sorted {
            ($1.evaluatedPerChange, $0.group.first.savedAt) < ($0.evaluatedPerChange, $1.group.first.savedAt)
        }
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
            reason: "either side of OR may be true, and one side has no part that the index can use",
            instead: "save a subscription for each side of OR")
    }
}

extension Clause {
    fileprivate var unindexedReason: String {
        if isNegated { return "it only excludes values of \(field), so it is true for nearly every record" }
        return switch comparator {
        case .exists: "any value of \(field) makes it true"
        case .every: "it asks about all elements of \(field), in a way that the index does not support"
        default: "the index does not support it"
        }
    }

    fileprivate var indexedInstead: String? {
        switch comparator {
        case .equals where isNegated, .isIn where isNegated: "\(field) IN {…} with the values that are allowed"
        case .exists: "a field that the app sets for this purpose, as in has_\(field) == 1"
        case .every: "ANY \(field) …, if one matching element is enough"
        default: nil
        }
    }
}
