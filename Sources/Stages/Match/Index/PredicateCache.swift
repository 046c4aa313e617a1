import Predicates

/// What of subscriptions was read again for what tests cannot decide.
struct PredicateCache {
    struct Rest {
        let predicate: RecordPredicate
        let sharedZoneOwner: [UInt8]?

        init(_ subscription: Subscription) {
            predicate = subscription.predicate
            sharedZoneOwner = subscription.sharedZoneOwner?.utf8
        }

        func holds(for change: Change) -> Bool {
            change.isInSharedZone(of: sharedZoneOwner)
                && predicate.matches(change.fields, of: change.record, now: change.milliseconds)
        }
    }

    private static let countMax = 10_000

    private var all: [Int32: Rest] = [:]

    mutating func rest(of slot: Int32, read: () -> Rest) -> Rest {
        if let known = all[slot] { return known }
        if all.count == PredicateCache.countMax { all.removeAll(keepingCapacity: true) }
        let rest = read()
        all[slot] = rest
        return rest
    }

    mutating func forget(_ slot: Int32) { if !all.isEmpty { all[slot] = nil } }
}
