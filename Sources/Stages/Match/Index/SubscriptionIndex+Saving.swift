import JSON
import PipelineKit
import Predicates

extension SubscriptionIndex {
    /// Adds a subscription. Replaces a saved subscription with the same identity.
    ///
    /// - Throws: A rejection if the subscription's notification info is invalid, or if the index is full.
    mutating func save(_ subscription: borrowing Subscription, at sequence: UInt64) throws(Rejection) {
        guard store.hasRoom else {
            throw Rejection(
                code: "subscription.limit",
                reason: "match is full: it can hold \(Entry.slotMax) subscriptions and 32 GiB of their packed texts",
                path: "subscription")
        }
        let info = try store.addInfo(subscription.notificationInfo)
        let home = addHome(subscription.identity)
        if let slot = store.find(subscription.identity, home: home) { delete(slot) }
        let root = readShape(subscription, home)
        let slot = store.add(subscription, home: home, info: info, savedAt: sequence, isUnindexed: shape.isUnindexed)
        guard !shape.isNever else { return }
        place(slot, subscription.firesOn, in: forest.list(root), covers: shape.allCovers, used: 0)
    }

    /// Deletes the subscription if it exists.
    mutating func delete(_ identity: Subscription.Identity) {
        guard let home = home(identity), let slot = store.find(identity, home: home) else { return }
        delete(slot)
    }

    mutating func delete(_ slot: Int32) {
        let placement = store[slot].placement
        if placement == .several {
            for placement in placements.removeValue(forKey: slot) ?? [] { remove(slot, placement) }
        } else {
            remove(slot, placement)
        }
        predicates.forget(slot)
        store.remove(slot)
    }
}

// MARK: - Reading

extension SubscriptionIndex {
    /// Reads the subscription into ``shape``.
    ///
    /// - Returns: The key of the root list.
    private mutating func readShape(_ subscription: borrowing Subscription, _ home: Int32) -> Forest.Key {
        shape.clear()
        if subscription.sharedZoneOwner != nil { shape.setUncertain() }
        let scope = addScope(subscription.identity, home)
        let recordType = subscription.recordType.map { names.intern(text: $0) }
        guard subscription.subscriptionType == .query, let recordType else {
            if let recordType { shape.append(.equal(Columns.recordType, UInt32(recordType) + 1)) }
            guard case .one(let zone) = subscription.zone else { return SubscriptionIndex.rootKey(.database, scope, 0) }
            return SubscriptionIndex.rootKey(.zone, scope, number(ofZone: zone))
        }
        shape.read(subscription.predicate, types[addType(recordType)], values, &names)
        guard case .one(let zone) = subscription.zone else {
            return SubscriptionIndex.rootKey(.queryEverywhere, scope, recordType)
        }
        return SubscriptionIndex.rootKey(.query, scope, recordType, zone: number(ofZone: zone))
    }

    private mutating func number(ofZone zone: JSONValue?) -> Int32 {
        zone.map { names.intern(text: $0) } ?? defaultZone
    }

    /// The index in ``types`` of a record type. Adds the record type if it is new.
    private mutating func addType(_ name: Int32) -> Int {
        if let number = typeNumber(name) { return number }
        while typeNumbers.count <= name { typeNumbers.append(-1) }
        typeNumbers[Int(name)] = Int32(types.count)
        types.append(Columns())
        return types.count - 1
    }

    private mutating func addHome(_ identity: Subscription.Identity) -> Int32 {
        let environment = environments.intern(
            names.intern(text: identity.container), names.intern(text: identity.environment))
        return homes.intern(environment, identity.database.rawValue)
    }

    private func home(_ identity: Subscription.Identity) -> Int32? {
        environment(identity.container, identity.environment).flatMap { homes.find($0, identity.database.rawValue) }
    }

    private mutating func addScope(_ identity: Subscription.Identity, _ home: Int32) -> Int32 {
        scopes.intern(home, identity.database == .public ? -1 : owners.intern(text: identity.user))
    }
}

// MARK: - Placing

extension SubscriptionIndex {
    /// Adds a subscription to a list. If the list is full and the shape has an unused ``Shape/Cover``, adds the
    /// subscription to the list's children and intervals instead, under the keys of the unused cover with the lowest
    /// likelihood.
    ///
    /// - Parameters:
    ///   - covers: A bit for each cover that is not used yet.
    ///   - used: A bit for each test that a record has already passed when it reaches the list.
    private mutating func place(
        _ slot: Int32, _ firesOn: Reason, in list: UInt32, covers: UInt64, used: UInt64
    ) {
        guard forest.header(list).count >= SubscriptionIndex.fullCount, let best = leastLikely(covers) else {
            return add(entry(slot, firesOn, used), slot, to: list)
        }
        let cover = shape.covers[best]
        for index in cover.keys {
            switch shape.keys[index] {
            case .value(let column, let value):
                let test: UInt64 = cover.test.map { $0 < 64 ? 1 << UInt64($0) : 0 } ?? 0
                place(
                    slot, firesOn, in: forest.child(of: list, column, value), covers: covers & ~(1 << UInt64(best)),
                    used: used | test)
            case .interval(let column, let low, let high):
                let test: UInt64 = cover.test.map { shape.isExactRange($0) ? 1 << UInt64($0) : 0 } ?? 0
                add(entry(slot, firesOn, used | test), slot, toIntervalsOf: list, column, low, high)
            }
        }
    }

    private func leastLikely(_ covers: UInt64) -> Int? {
        var best: Int?
        for index in shape.covers.indices.prefix(64) where covers & 1 << UInt64(index) != 0 {
            if shape.covers[index].likelihood < best.map({ shape.covers[$0].likelihood }) ?? .infinity { best = index }
        }
        return best
    }

    private func entry(_ slot: Int32, _ firesOn: Reason, _ used: UInt64) -> Entry {
        Entry(slot: slot, firesOn: firesOn, tests: shape.tests(without: used), isCertain: shape.isCertain)
    }

    private mutating func add(_ entry: Entry, _ slot: Int32, to list: UInt32) {
        add(SubscriptionStore.Placement(list: list, position: forest.add(entry, to: list)), slot)
    }

    private mutating func add(
        _ entry: Entry, _ slot: Int32, toIntervalsOf list: UInt32, _ column: Columns.Number, _ low: UInt32,
        _ high: UInt32
    ) {
        let (number, isNew) = intervals.intern(list, column)
        forest.addIntervals(to: list, column, isNew: isNew)
        let start = intervals.add(entry, low: low, high: high, to: number)
        add(SubscriptionStore.Placement(intervals: number, start), slot)
    }

    private mutating func add(_ placement: SubscriptionStore.Placement, _ slot: Int32) {
        switch store[slot].placement {
        case .none: store[slot].placement = placement
        case .several: placements[slot, default: []].append(placement)
        case let first:
            placements[slot] = [first, placement]
            store[slot].placement = .several
        }
    }

    private mutating func remove(_ slot: Int32, _ placement: SubscriptionStore.Placement) {
        if let list = placement.listID {
            guard let moved = forest.remove(Int(placement.position), from: list) else { return }
            move(moved.slot, list, from: moved.position, to: Int(placement.position))
        } else if let (number, start) = placement.intervals {
            if let parent = intervals.remove(slot, startingAt: start, from: number) {
                forest.noteRemovedChild(of: parent)
            }
        }
    }

    private mutating func move(_ slot: Int32, _ list: UInt32, from before: Int, to after: Int) {
        let (before, after) = (
            SubscriptionStore.Placement(list: list, position: before),
            SubscriptionStore.Placement(list: list, position: after)
        )
        if store[slot].placement == before {
            store[slot].placement = after
        } else if let index = placements[slot]?.firstIndex(of: before) {
            placements[slot]?[index] = after
        }
    }
}
