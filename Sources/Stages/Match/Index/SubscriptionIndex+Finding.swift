import JSON
import Predicates

extension SubscriptionIndex {
    /// Stands for a name that no subscription contains.
    private static let unknown: Int32 = -2

    /// The numbers of a change's scope, record type and zone.
    private struct Target {
        let scope: Int32
        let recordType: Int32
        let zone: Int32
    }

    /// Collects the subscriptions that watch a change, in the order in which they were saved.
    mutating func find(_ change: borrowing Change, into found: inout [SavedSlot]) {
        guard let target = target(of: change) else { return }
        collect(change, target)
        // The formatter would remove the space in `for unsafe`.
        // swift-format-ignore
        for unsafe hit in unsafe hits.view {
            let slot = Int32(bitPattern: hit >> 1)
            if hit & 1 == 1 || record.hasBytes, !predicateHolds(slot, for: copy change) { continue }
            found.append(SavedSlot(savedAt: store[slot].savedAt, slot: slot))
        }
        hits.removeAll()
        record.clear()
        if found.count > 1 { sortAndDeduplicate(&found) }
    }

    /// The number in ``homes`` of the change's environment and database. Nil if the index never had a subscription
    /// there. Caches the environment of the previous change, because most changes come from the same environment.
    @inline(__always)
    private mutating func home(_ change: borrowing Change) -> Int32? {
        if let last = lastEnvironment, last.isEnvironment(of: change) {
            return homes.find(last.number, change.database.rawValue)
        }
        guard let number = environment(change.container, change.environment) else { return nil }
        lastEnvironment = LastEnvironment(change, number)
        return homes.find(number, change.database.rawValue)
    }

    func environment(_ container: JSONValue, _ environment: JSONValue) -> Int32? {
        guard let container = names.find(container), let environment = names.find(environment) else { return nil }
        return environments.find(container, environment)
    }

    @inline(__always)
    private mutating func target(of change: borrowing Change) -> Target? {
        guard let home = home(change) else { return nil }
        let owner = change.owner.map { owners.find($0) ?? SubscriptionIndex.unknown } ?? -1
        guard let scope = scopes.find(home, owner) else { return nil }
        return Target(
            scope: scope, recordType: change.recordType.flatMap { names.find($0) } ?? SubscriptionIndex.unknown,
            zone: change.zone.name.map { names.find($0) ?? SubscriptionIndex.unknown } ?? defaultZone)
    }

    private mutating func collect(_ change: borrowing Change, _ target: Target) {
        let roots = roots(target)
        if target.recordType >= 0 { record.set(Columns.recordType, UInt32(target.recordType) + 1) }
        if roots.0 != nil || roots.1 != nil, let type = typeNumber(target.recordType) {
            unsafe record.load(change, types[type], names.view, values.view)
        }
        let walk = unsafe Walk(
            forest: forest.view, record: record.view(sets: values.view.sets), intervals: intervals.view,
            reason: change.reason, hits: hits)
        if let root = roots.0 { unsafe walk.visit(root) }
        if let root = roots.1 { unsafe walk.visit(root) }
        if let root = roots.2 { unsafe walk.visit(root) }
        if let root = roots.3 { unsafe walk.visit(root) }
    }

    /// The lists of subscriptions that may watch the change. A database subscription watches every zone except the
    /// default zone (CKDatabaseSubscription).
    @inline(__always)
    private func roots(_ target: Target) -> (Int?, Int?, Int?, Int?) {
        let (forest, scope, type) = unsafe (forest.view, target.scope, target.recordType)
        return unsafe (
            forest.find(SubscriptionIndex.rootKey(.query, scope, type, zone: target.zone)),
            forest.find(SubscriptionIndex.rootKey(.queryEverywhere, scope, type)),
            forest.find(SubscriptionIndex.rootKey(.zone, scope, target.zone)),
            target.zone == defaultZone ? nil : forest.find(SubscriptionIndex.rootKey(.database, scope, 0))
        )
    }

    /// Whether the predicate is true, and the change's zone has the owner that the subscription names. Only called if
    /// the tests could not decide, or if a compared field contains bytes.
    @inline(never)
    private mutating func predicateHolds(_ slot: Int32, for change: Change) -> Bool {
        predicates.predicate(of: slot) { store.withSubscription(slot) { PredicateCache.Predicate($0) } }
            .holds(for: change)
    }

    /// Sorts the subscriptions and removes duplicates. A subscription may be found several times, because the index may
    /// store it under several keys.
    private func sortAndDeduplicate(_ found: inout [SavedSlot]) {
        found.sort()
        var kept = 1
        for index in 1..<found.count where found[index].slot != found[kept - 1].slot {
            found[kept] = found[index]
            kept += 1
        }
        found.removeLast(found.count - kept)
    }
}

/// The container and environment of the last change whose environment has or had subscriptions.
struct LastEnvironment {
    private let container: [UInt8]
    private let environment: [UInt8]
    let number: Int32

    init(_ change: borrowing Change, _ number: Int32) {
        (container, environment, self.number) = (change.container.utf8, change.environment.utf8, number)
    }

    @inline(__always)
    func isEnvironment(of change: borrowing Change) -> Bool {
        guard let container = unsafe change.container.plain, let environment = unsafe change.environment.plain else {
            return false
        }
        return unsafe self.container.withUnsafeBytes { unsafe $0.isSame(as: container) }
            && self.environment.withUnsafeBytes { unsafe $0.isSame(as: environment) }
    }
}

/// Visits all lists whose keys a record has.
@unsafe private struct Walk {
    let forest: Forest.View
    let record: RecordColumns.View
    let intervals: IntervalStore.View
    let reason: Reason
    /// Slots shifted left by one bit. The lowest bit says whether the predicate must decide.
    let hits: Slab<UInt32>

    func visit(_ offset: Int) {
        let header = unsafe forest.header(offset)
        for index in 0..<header.count { unsafe check(forest.entry(index, of: offset)) }
        if header.valueColumns | header.intervalColumns != 0 { unsafe visitChildren(header) }
    }

    @inline(__always)
    private func check(_ entry: EntryView) {
        guard unsafe entry.fires(on: reason) else { return }
        switch unsafe record.verdict(entry) {
        case .no: return
        case .undecided: unsafe hits.append(UInt32(bitPattern: entry.slot) << 1 | 1)
        case .yes: unsafe hits.append(UInt32(bitPattern: entry.slot) << 1)
        }
    }

    /// Visits the child lists and the intervals whose keys the record has.
    ///
    /// Finds the first child lists before it visits them, so that the memory accesses of the searches overlap. Visits
    /// each further child list as soon as it is found.
    private func visitChildren(_ header: Forest.Header) {
        unsafe withUnsafeTemporaryAllocation(of: Int.self, capacity: Walk.childrenAtOnce) { children in
            var count = 0
            // swift-format-ignore
            for unsafe column in unsafe record.present where header.valueColumns & Forest.bit(column) != 0 {
                if unsafe record.isMany(column) {
                    for unsafe value in unsafe record.many(column) {
                        unsafe findOrVisit(header.id, column, value, children, &count)
                    }
                } else if unsafe record.numbers[Int(column)] != ValueTable.unknown {
                    unsafe findOrVisit(header.id, column, record.numbers[Int(column)], children, &count)
                }
            }
            // swift-format-ignore
            for unsafe child in unsafe children.prefix(count) { unsafe visit(child) }
        }
        guard header.intervalColumns != 0 else { return }
        // swift-format-ignore
        for unsafe column in unsafe record.present where header.intervalColumns & Forest.bit(column) != 0 {
            unsafe visitIntervals(header.id, column)
        }
    }

    /// The number of child lists that are found before they are visited.
    private static let childrenAtOnce = 16

    @inline(__always)
    private func findOrVisit(
        _ id: UInt32, _ column: Columns.Number, _ value: UInt32, _ children: UnsafeMutableBufferPointer<Int>,
        _ count: inout Int
    ) {
        guard let child = unsafe forest.find(Forest.Key(parent: id, value: value, column: column)) else { return }
        if unsafe count == Walk.childrenAtOnce { return unsafe visit(child) }
        unsafe children[count] = child
        count += 1
    }

    private func visitIntervals(_ id: UInt32, _ column: Columns.Number) {
        guard let list = unsafe intervals.find(id, column) else { return }
        if unsafe record.isMany(column) {
            // swift-format-ignore
            for unsafe value in unsafe record.many(column) {
                unsafe intervals.forEach(of: list, at: value, record.presentBits) { unsafe check($0) }
            }
        } else {
            unsafe intervals.forEach(of: list, at: record.numbers[Int(column)], record.presentBits) { unsafe check($0) }
        }
    }
}
