import JSON
import PipelineKit
import Predicates

/// All saved subscriptions, and for a change those that watch it.
///
/// Subscriptions of one scope, record type and zone share a root list. A list that is full puts what comes after into
/// its children: each under the key that is rarest to be true, of a value (equality, elements, words, cells of the grid)
/// or of an interval (ranges, beginnings). A child that is full does the same with the keys that are left. Entries hold
/// up to three further tests; what these cannot decide the predicate does.
struct SubscriptionIndex {
    struct Found: Comparable {
        /// Sequence of the event that saved the subscription.
        let saved: UInt64
        let slot: Int32

        static func < (left: Found, right: Found) -> Bool { left.saved < right.saved }
    }

    /// What a root list is for.
    enum Shelf: UInt8 {
        /// Queries of one record type and zone, and of one record type and all zones.
        case query = 0x80
        case queryEverywhere
        case zone, database
    }

    /// How many entries a list holds before others go to its children.
    static let fullCount = 8

    /// Of containers, environments, record types, zones and fields.
    var names = SymbolTable()
    var owners = SymbolTable()
    /// A container in one environment, and of that one database: what is called a home.
    var environments = PairTable()
    var homes = PairTable()
    /// One user's part of a private or shared database, or a public database: a home and its owner, who is -1 in the
    /// public database.
    var scopes = PairTable()
    var types: [Columns] = []
    /// The numbers of record types by those of their names; -1 for other names.
    var typeNumbers: [Int32] = []
    let values = ValueTable()
    var store = SubscriptionStore()
    var forest = Forest()
    var intervals = IntervalStore()
    /// Where subscriptions stand that stand in several places.
    var placements: [Int32: [SubscriptionStore.Placement]] = [:]
    var shape = Shape()
    let defaultZone: Int32

    // Of one change; empty between changes.
    var record = RecordColumns()
    let hits = Slab<UInt32>()
    var lastEnvironment: LastEnvironment?
    var predicates = PredicateCache()

    init() {
        var names = SymbolTable()
        defaultZone = names.intern(SubscriptionReader.defaultZone)
        self.names = names
    }

    var count: Int { store.count }

    /// Makes room for that many subscriptions.
    mutating func reserveCapacity(_ count: Int) {
        store.reserveCapacity(count)
        forest.reserveCapacity(count)
    }
}

// MARK: - Roots

extension SubscriptionIndex {
    /// - Parameters:
    ///   - name: A record type's number, or a zone's.
    ///   - zone: Of a query in one zone.
    @inline(__always)
    static func rootKey(_ shelf: Shelf, _ scope: Int32, _ name: Int32, zone: Int32 = 0) -> Forest.Key {
        Forest.Key(
            parent: Forest.Key.rootBit | UInt32(bitPattern: scope), value: UInt32(bitPattern: name),
            column: shelf.rawValue, second: UInt32(bitPattern: zone))
    }

    @inline(__always)
    func typeNumber(_ name: Int32) -> Int? {
        guard name >= 0, Int(name) < typeNumbers.count, typeNumbers[Int(name)] >= 0 else { return nil }
        return Int(typeNumbers[Int(name)])
    }
}
