import JSON
import PipelineKit
import Predicates

/// Keeps all saved subscriptions, and finds the subscriptions that watch a change.
///
/// Each database (see ``scopes``) has root lists: for queries for a record type in one zone, for queries for a record
/// type in all zones, for subscriptions to a zone, and for subscriptions to the whole database. Once a list is full,
/// further subscriptions go into its children, under the keys that a record is least likely to have. A key is a value
/// (for equality, elements, words and grid cells) or an interval (for ranges and prefixes). A list has a child list for
/// each value, and an ``IntervalStore`` keeps its intervals. A full child list gets children of its own, under keys
/// that are not used yet. A subscription goes under all keys of a *cover*: every record that satisfies the predicate
/// has at least one of them. The entry of a subscription has up to three tests. If the tests cannot decide, the
/// predicate is evaluated.
struct SubscriptionIndex {
    /// The slot of a saved subscription, and the sequence of its save. Comparison follows the order of the saves.
    struct SavedSlot: Comparable {
        /// The sequence of the `subscription.save`.
        let savedAt: UInt64
        let slot: Int32

        static func < (left: SavedSlot, right: SavedSlot) -> Bool { left.savedAt < right.savedAt }
    }

    /// The kind of a root list.
    enum RootKind: UInt8 {
        /// Queries for a record type in one zone.
        case query = 0x80
        /// Queries for a record type in all zones.
        case queryEverywhere
        case zone, database
    }

    /// A list with this many entries or more is full. A new entry then goes to the list's children, if its subscription
    /// has unused keys.
    static let fullCount = 8

    /// Names of containers, environments, record types, zones and fields.
    var names = SymbolTable()
    var owners = SymbolTable()
    /// Pairs of container and environment.
    var environments = PairTable()
    /// Pairs of environment and database: public, private or shared. Such a pair is called a home.
    var homes = PairTable()
    /// Pairs of home and owner: a public database (with owner -1), or one user's private or shared database. In the
    /// index, such a pair is called a scope.
    var scopes = PairTable()
    var types: [Columns] = []
    /// By the number of a name in ``names``: the index in ``types`` of the record type with this name; -1 if there is
    /// none.
    var typeNumbers: [Int32] = []
    let values = ValueTable()
    var store = SubscriptionStore()
    var forest = Forest()
    var intervals = IntervalStore()
    /// The placements of each subscription that has several placements.
    var placements: [Int32: [SubscriptionStore.Placement]] = [:]
    var shape = Shape()
    let defaultZone: Int32

    // `record` and `hits` belong to the current change. They are empty between changes.
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

    mutating func reserveCapacity(_ count: Int) {
        store.reserveCapacity(count)
        forest.reserveCapacity(forEntries: count)
    }
}

// MARK: - Roots

extension SubscriptionIndex {
    /// - Parameters:
    ///   - name: The number of a record type's name, or of a zone's name; 0 for subscriptions to the whole database.
    ///   - zone: The number of the zone's name, for queries in one zone.
    @inline(__always)
    static func rootKey(_ kind: RootKind, _ scope: Int32, _ name: Int32, zone: Int32 = 0) -> Forest.Key {
        Forest.Key(
            parent: Forest.Key.rootBit | UInt32(bitPattern: scope), value: UInt32(bitPattern: name),
            column: kind.rawValue, second: UInt32(bitPattern: zone))
    }

    @inline(__always)
    func typeNumber(_ name: Int32) -> Int? {
        guard name >= 0, Int(name) < typeNumbers.count, typeNumbers[Int(name)] >= 0 else { return nil }
        return Int(typeNumbers[Int(name)])
    }
}
