import JSON
import Predicates

/// All saved subscriptions, and for a change those that watch it.
///
/// A query subscription stands in the lists of the values of one clause that asks for equality: the one whose lists are
/// shortest when it is saved. Without such a clause it stands in the list of its record type, which is looked through.
struct SubscriptionIndex {
    struct Found: Comparable {
        /// Sequence of the event that saved the subscription.
        let saved: UInt64
        let slot: Int32

        static func < (left: Found, right: Found) -> Bool { left.saved < right.saved }
    }

    /// A subscription with all that belongs to its place in the index. A class, because what is looked at for every
    /// change must not be copied.
    final class Stored {
        let subscription: Subscription
        let saved: UInt64
        let copied: [CopiedField]
        let clauses: [BoundClause]

        init(_ subscription: Subscription, saved: UInt64, copied: [CopiedField], clauses: [BoundClause]) {
            (self.subscription, self.saved, self.copied, self.clauses) = (subscription, saved, copied, clauses)
        }
    }

    struct CopiedField {
        let symbol: Int32
        let isForDeletes: Bool
        /// `"title"`
        let key: [UInt8]
    }

    struct BoundClause {
        let symbol: Int32
        let clause: Clause
    }

    struct Scope: Hashable {
        let container: Int32
        let environment: Int32
        let database: Database
        /// -1 in the public database, which is everybody's.
        let owner: Int32
    }

    private(set) var symbols = SymbolTable()
    private(set) var scopes: [Scope: Int32] = [:]
    private(set) var slots: [Subscription.Identity: Int32] = [:]
    private(set) var stored = Pool<Stored>()
    private(set) var lists = PostingLists()
    /// Where each stored subscription stands in the lists, by its slot.
    private var postings: [[Int32]] = []
    var fields = FieldTable()
    let defaultZone: Int32

    init() {
        var symbols = SymbolTable()
        defaultZone = symbols.intern(SubscriptionReader.defaultZone)
        self.symbols = symbols
    }

    var count: Int { slots.count }

    /// Makes room for that many subscriptions.
    mutating func reserveCapacity(_ count: Int) {
        slots.reserveCapacity(count)
        stored.reserveCapacity(count)
        lists.reserveCapacity(count)
    }

    subscript(slot: Int32) -> Stored { stored[slot] }
}

// MARK: - Saving and deleting

extension SubscriptionIndex {
    /// Replaces the subscription with the same identity, if there is one.
    mutating func save(_ subscription: Subscription, at sequence: UInt64) {
        delete(subscription.identity)
        add(subscription, at: sequence)
    }

    /// - Parameter subscription: One of an identity that no other has.
    mutating func add(_ subscription: Subscription, at sequence: UInt64) {
        let clauses = subscription.predicate.clauses.map { BoundClause(symbol: fields.intern($0.field), clause: $0) }
        let slot = stored.add(
            Stored(
                subscription, saved: sequence, copied: subscription.copied.map { copied($0) },
                clauses: clauses))
        slots[subscription.identity] = slot
        let entry = entry(subscription, slot)
        if postings.count <= slot { postings.append([]) }
        postings[Int(slot)] = keys(subscription, clauses).map { lists.add(entry, under: $0) }
    }

    /// Deletes nothing where nothing is.
    mutating func delete(_ identity: Subscription.Identity) {
        guard let slot = slots.removeValue(forKey: identity) else { return }
        for posting in postings[Int(slot)] { lists.remove(posting) }
        postings[Int(slot)] = []
        stored.free(slot)
    }

    private mutating func copied(_ copied: Subscription.Copied) -> CopiedField {
        var key = ByteBuffer()
        key.appendJSON(copied.field)
        return CopiedField(
            symbol: fields.intern(copied.field), isForDeletes: copied.isForDeletes, key: Array(key.bytes))
    }

    private mutating func entry(_ subscription: Subscription, _ slot: Int32) -> PostingLists.Entry {
        PostingLists.Entry(
            slot: slot,
            zone: subscription.zone.map { symbols.intern($0) } ?? PostingLists.Entry.any,
            recordType: subscription.recordType.map { symbols.intern($0) } ?? PostingLists.Entry.any,
            firesOn: subscription.firesOn)
    }

    /// The lists that a subscription stands in; none for a predicate that never holds.
    private mutating func keys(_ subscription: Subscription, _ clauses: [BoundClause]) -> [PostingLists.Key] {
        let scope = scope(subscription.identity)
        switch subscription.subject {
        case .database: return [PostingLists.Key(scope: scope, shelf: .database)]
        case .zone:
            return subscription.zone.map { [PostingLists.Key(scope: scope, shelf: .zone, name: symbols.intern($0))] }
                ?? []
        case .query:
            guard !subscription.predicate.isNever else { return [] }
            let type = symbols.intern(subscription.recordType ?? [])
            return equalityKeys(clauses, scope, type) ?? [PostingLists.Key(scope: scope, shelf: .scan, name: type)]
        }
    }

    /// Of the clauses that ask for equality, the one whose lists hold the fewest now; the first among equals.
    private func equalityKeys(_ clauses: [BoundClause], _ scope: Int32, _ type: Int32) -> [PostingLists.Key]? {
        var best: (keys: [PostingLists.Key], cost: Int)?
        for bound in clauses {
            guard let values = bound.clause.anchors else { continue }
            let keys = Set(values.map { EqualityKey($0, field: bound.symbol) }).map {
                PostingLists.Key(scope: scope, shelf: .equality, name: type, value: $0)
            }
            let cost = keys.reduce(0) { $0 + lists.count(of: $1) }
            if cost < best?.cost ?? .max { best = (keys, cost) }
        }
        return best?.keys
    }

    private mutating func scope(_ identity: Subscription.Identity) -> Int32 {
        let scope = Scope(
            container: symbols.intern(identity.container), environment: symbols.intern(identity.environment),
            database: identity.database, owner: identity.database == .public ? -1 : symbols.intern(identity.user))
        if let number = scopes[scope] { return number }
        scopes[scope] = Int32(scopes.count)
        return Int32(scopes.count - 1)
    }
}
