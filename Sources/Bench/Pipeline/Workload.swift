/// The changes of a run, from a seed: the same seed makes the same bytes.
///
/// A slot is the number of a subscription. Each record belongs to a slot, which decides the record's database, owner
/// and type. A change saves a random record. One change in four, at random, matches the subscription of its slot. If
/// the subscription is a query, half of the other changes have the right topic and too low a priority, and the rest
/// have another topic. If the subscription is for a zone, the other changes are in another zone. So a change has at
/// most one match, and a match has one device.
struct Workload {
    /// The kind of a slot's subscription: of ten slots, six private queries, three public queries and one zone.
    enum Kind: Int, CaseIterable { case privateQuery, publicQuery, zone }

    struct Change: Hashable {
        var slot: Int
        var record: Int
        var isWatched: Bool
        /// The number of the topic. If the slot's subscription is for a zone, the number of the record's zone.
        var topic: Int
        var priority: Int
    }

    /// The length of every change, with its line feed.
    static let lineBytes = 390

    /// The size of this many changes, in megabytes.
    static func megabytes(_ lines: Double) -> Double { lines * Double(lineBytes) / 1e6 }

    static let subscriptionsPerUser = 5

    /// No subscription watches a topic or a zone with this number or a higher one.
    static let firstForeignTopic = 5_000_000

    let subscriptions: Int
    let records: Int
    private var random: SplitMix64
    private let templates = Kind.allCases.map(ChangeTemplate.init)
    /// The number of changes that ``lines(_:)`` has made.
    private(set) var made: UInt64 = 0
    /// How many of these changes a subscription watches.
    private(set) var watched: UInt64 = 0

    init(seed: UInt64, subscriptions: Int, records: Int = 100_000) {
        precondition(
            (1..<Workload.firstForeignTopic).contains(subscriptions) && records > 0,
            "the workload has \(subscriptions) subscriptions and \(records) records")
        self.subscriptions = subscriptions
        self.records = records
        random = SplitMix64(seed: seed)
    }

    var users: Int { (subscriptions + Workload.subscriptionsPerUser - 1) / Workload.subscriptionsPerUser }

    static func kind(ofSlot slot: Int) -> Kind {
        switch slot % 10 {
        case ..<6: .privateQuery
        case ..<9: .publicQuery
        default: .zone
        }
    }

    static func user(ofSlot slot: Int) -> Int { slot / subscriptionsPerUser }

    mutating func change() -> Change {
        let bits = random.next()
        let record = random.below(records)
        let slot = record % subscriptions
        let isWatched = bits & 3 == 0
        let isZone = Workload.kind(ofSlot: slot) == .zone
        let hasRightTopic = !isZone && bits & 4 == 0
        // The same name in another zone is another record. Random zones would make more and more records, so a slot has
        // only one foreign zone.
        let foreign = isZone ? slot : Int(bits >> 40) % Workload.firstForeignTopic
        let topic = isWatched || hasRightTopic ? slot : Workload.firstForeignTopic + foreign
        let isPriorityTooLow = !isWatched && hasRightTopic
        let priority = (isPriorityTooLow ? 0 : 3) + Int((bits >> 8) & 0xFF) % (isPriorityTooLow ? 3 : 7)
        return Change(slot: slot, record: record, isWatched: isWatched, topic: topic, priority: priority)
    }

    /// The next changes, one line each.
    mutating func lines(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count * Workload.lineBytes) { buffer, bytes in
            for index in 0..<count {
                let start = index * Workload.lineBytes
                write(change(), to: UnsafeMutableBufferPointer(rebasing: buffer[start..<start + Workload.lineBytes]))
            }
            bytes = count * Workload.lineBytes
        }
    }

    private mutating func write(_ change: Change, to line: UnsafeMutableBufferPointer<UInt8>) {
        templates[Workload.kind(ofSlot: change.slot).rawValue].write(change, number: made, to: line)
        made += 1
        if change.isWatched { watched += 1 }
    }
}

/// The generator SplitMix64 (Steele, Lea, Flood 2014): the same numbers on every machine.
struct SplitMix64 {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var bits = state
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }

    /// A number in 0 ..< bound, all with almost the same probability.
    mutating func below(_ bound: Int) -> Int { Int(next().multipliedFullWidth(by: UInt64(bound)).high) }
}
