/// The changes that the pipeline is measured with: seeded, so that every run sends the same bytes.
///
/// Each subscription owns a slot, and each record belongs to one: its database, owner, zone and type follow from that.
/// A change saves a record drawn evenly. One change in four, drawn by coin, is what the slot's subscription watches;
/// of the others half name the topic it asks for with a priority below the one it asks for, half another topic (in a
/// zone's slot: another zone). So a change has one match or none, and a match has one device.
struct Workload {
    /// What a slot's subscription is. Of ten: six private queries, three public ones, one zone.
    enum Kind: Int, CaseIterable { case privateQuery, publicQuery, zone }

    struct Change: Hashable {
        var slot: Int
        var record: Int
        var isWatched: Bool
        var topic: Int
        var priority: Int
    }

    /// Every change takes this many bytes with its line feed.
    static let lineBytes = 390

    /// Of so many lines.
    static func megabytes(_ lines: Double) -> Double { lines * Double(lineBytes) / 1e6 }
    static let subscriptionsPerUser = 5
    /// Topics from here on are nobody's.
    static let foreignTopics = 5_000_000

    let subscriptions: Int
    let records: Int
    private var random: SplitMix64
    private let templates = Kind.allCases.map(ChangeTemplate.init)
    /// How many changes were made, and how many of them are watched.
    private(set) var made: UInt64 = 0
    private(set) var watched: UInt64 = 0

    init(seed: UInt64, subscriptions: Int, records: Int = 100_000) {
        precondition((1..<Workload.foreignTopics).contains(subscriptions) && records > 0, "numbers have seven digits")
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
        let isNear = !isZone && bits & 4 == 0
        // A record's zone is part of its name: two for each record, or there would be ever more records.
        let foreign = isZone ? slot : Int(bits >> 40) % Workload.foreignTopics
        let topic = isWatched || isNear ? slot : Workload.foreignTopics + foreign
        let isLow = !isWatched && isNear
        let priority = (isLow ? 0 : 3) + Int((bits >> 8) & 0xFF) % (isLow ? 3 : 7)
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

/// Sebastiano Vigna's SplitMix64: small, quick, and the same on every machine.
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

    /// Evenly from 0 to below the bound (to within its share of 2^64).
    mutating func below(_ bound: Int) -> Int { Int(next().multipliedFullWidth(by: UInt64(bound)).high) }
}
