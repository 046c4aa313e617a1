import Predicates

/// Predicates that were read again for what tests cannot decide.
struct PredicateCache {
    private static let countMax = 10_000

    private var predicates: [Int32: RecordPredicate] = [:]

    mutating func predicate(_ slot: Int32, read: () -> RecordPredicate) -> RecordPredicate {
        if let known = predicates[slot] { return known }
        if predicates.count == PredicateCache.countMax { predicates.removeAll(keepingCapacity: true) }
        let predicate = read()
        predicates[slot] = predicate
        return predicate
    }

    mutating func forget(_ slot: Int32) { if !predicates.isEmpty { predicates[slot] = nil } }
}
