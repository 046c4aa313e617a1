import JSON
import Predicates

extension SubscriptionIndex {
    /// Stands for a name that no subscription has.
    private static let unknown: Int32 = -2

    /// What a change is compared with, as symbols.
    private struct Sought {
        let scope: Int32
        let recordType: Int32
        let zone: Int32
        let reason: Reason
    }

    /// Collects the subscriptions that watch a change, in the order in which they were saved.
    ///
    /// The change's fields stay located until ``clear()``.
    mutating func find(_ change: Change, into found: inout [Found]) {
        guard let sought = sought(change) else { return }
        fields.load(change.fields)
        findQueries(sought, &found)
        findOthers(sought, &found)
        sort(&found)
    }

    mutating func clear() { fields.clear() }

    @inline(__always)
    private func sought(_ change: Change) -> Sought? {
        guard let container = symbols.find(change.container), let environment = symbols.find(change.environment) else {
            return nil
        }
        let owner = change.owner.map { symbols.find($0) ?? SubscriptionIndex.unknown } ?? -1
        let key = Scope(container: container, environment: environment, database: change.database, owner: owner)
        guard let scope = scopes[key] else { return nil }
        return Sought(
            scope: scope,
            recordType: change.recordType.flatMap { symbols.find($0) } ?? SubscriptionIndex.unknown,
            zone: change.zone.name.map { symbols.find($0) ?? SubscriptionIndex.unknown } ?? defaultZone,
            reason: change.reason)
    }

    private func findQueries(_ sought: Sought, _ found: inout [Found]) {
        guard sought.recordType >= 0 else { return }
        look(PostingLists.Key(scope: sought.scope, shelf: .scan, name: sought.recordType), sought, &found)
        for symbol in fields.located {
            guard let cell = fields[symbol] else { continue }
            EqualityKey.forEach(in: cell.view, field: symbol) { value in
                look(
                    PostingLists.Key(scope: sought.scope, shelf: .equality, name: sought.recordType, value: value),
                    sought, &found)
            }
        }
    }

    /// A database subscription watches every zone but the default one (CKDatabaseSubscription).
    private func findOthers(_ sought: Sought, _ found: inout [Found]) {
        look(PostingLists.Key(scope: sought.scope, shelf: .zone, name: sought.zone), sought, &found)
        if sought.zone != defaultZone {
            look(PostingLists.Key(scope: sought.scope, shelf: .database), sought, &found)
        }
    }

    @inline(__always)
    private func look(_ key: PostingLists.Key, _ sought: Sought, _ found: inout [Found]) {
        lists.forEach(under: key) { entry in
            guard entry.firesOn.contains(sought.reason),
                entry.zone == PostingLists.Entry.any || entry.zone == sought.zone,
                entry.recordType == PostingLists.Entry.any || entry.recordType == sought.recordType,
                stored[entry.slot].clauses.allSatisfy({ holds($0) })
            else { return }
            found.append(Found(saved: stored[entry.slot].saved, slot: entry.slot))
        }
    }

    @inline(__always)
    func holds(_ bound: BoundClause) -> Bool {
        guard let cell = fields[bound.symbol] else { return false }
        return bound.clause.holds(for: cell.view)
    }

    /// A list that holds two of a clause's values leads to one subscription twice.
    private func sort(_ found: inout [Found]) {
        guard found.count > 1 else { return }
        found.sort()
        var kept = 1
        for index in 1..<found.count where found[index].slot != found[kept - 1].slot {
            found[kept] = found[index]
            kept += 1
        }
        found.removeLast(found.count - kept)
    }
}
