import Predicates

/// Keeps parsed predicates, so that they are not parsed again for each change.
///
/// The cache contains only predicates that had to be evaluated, because the index alone could not decide. If the cache
/// is full, it drops all predicates before it adds another one.
struct PredicateCache {
    struct Predicate {
        let predicate: RecordPredicate
        let sharedZoneOwner: [UInt8]?

        init(_ subscription: Subscription) {
            predicate = subscription.predicate
            sharedZoneOwner = subscription.sharedZoneOwner?.utf8
        }

        func holds(for change: Change) -> Bool {
            change.hasZoneOwner(sharedZoneOwner)
                && predicate.matches(
                    change.fields, of: change.record, now: change.milliseconds, save: change.save)
        }
    }

    private static let countMax = 10_000

    private var all: [Int32: Predicate] = [:]

    mutating func predicate(of slot: Int32, read: () -> Predicate) -> Predicate {
        if let known = all[slot] { return known }
        if all.count == PredicateCache.countMax { all.removeAll(keepingCapacity: true) }
        let predicate = read()
        all[slot] = predicate
        return predicate
    }

    mutating func forget(_ slot: Int32) { if !all.isEmpty { all[slot] = nil } }
}
