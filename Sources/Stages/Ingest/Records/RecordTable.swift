/// The entries of all records, by fingerprint.
///
/// Many small hash tables make up the table, so that growing one of them moves only a thousandth of the entries.
struct RecordTable {
    /// The position of a fingerprint's entry, or the position at which the entry would be inserted. Valid until the
    /// next change.
    struct Place {
        fileprivate let part: Int
        fileprivate let slot: Int
        /// The fingerprint's entry; nil if the table has no such entry.
        let entry: RecordEntry?
    }

    private(set) var parts = [RecordTablePart](repeating: RecordTablePart(), count: partCount)

    static let partBits: UInt64 = 10
    static let partCount = 1 << partBits

    /// Includes records that were deleted with their zone.
    var count: Int { parts.reduce(0) { $0 + $1.count } }

    /// The size of the entries and the free slots in memory.
    var memoryBytes: Int { parts.reduce(0) { $0 + $1.memoryBytes } }

    @inline(__always)
    func place(of fingerprint: NameFingerprint) -> Place {
        let part = RecordTable.part(of: fingerprint)
        let slot = parts[part].slot(of: fingerprint)
        return Place(part: part, slot: slot, entry: parts[part].entry(of: fingerprint, at: slot))
    }

    /// Writes an entry to its place.
    ///
    /// - Parameter zones: Tells which records were deleted with their zone. A part drops their entries before it grows.
    @inline(__always)
    mutating func set(_ entry: RecordEntry, at place: Place, _ zones: ZoneMemory) {
        if place.entry == nil {
            parts[place.part].insert(entry, at: place.slot, zones)
        } else {
            parts[place.part].replace(entry, at: place.slot)
        }
    }

    mutating func remove(at place: Place) {
        if place.entry != nil { parts[place.part].remove(at: place.slot) }
    }

    @inline(__always)
    static func part(of fingerprint: NameFingerprint) -> Int {
        Int(truncatingIfNeeded: fingerprint.high >> (64 - partBits))
    }

    mutating func setPart(_ index: Int, _ part: RecordTablePart) { parts[index] = part }
}

/// A hash table with open addressing, whose entries are in the order of their fingerprints.
///
/// The home of an entry is the slot whose index is proportional to the fingerprint. The entry is there or in a later
/// slot, with no empty slot in between. So a search ends at the first larger fingerprint, and the order of the entries
/// does not depend on the order of the changes.
struct RecordTablePart {
    private var slots: ContiguousArray<RecordEntry> = []
    /// The number of homes. A few more slots follow for the entries that come after the last home.
    private var homes = 0
    private(set) var count = 0

    init() {}

    /// - Parameter entries: In the order of their fingerprints.
    init(_ entries: [RecordEntry]) {
        guard !entries.isEmpty else { return }
        var homes = entries.count * 5 / 4
        while !fill(entries, homes: homes) { homes = RecordTablePart.larger(homes) }
    }

    var memoryBytes: Int { slots.count * MemoryLayout<RecordEntry>.stride }

    /// The entries in order.
    var entries: some Sequence<RecordEntry> { slots.lazy.filter { !$0.isEmpty } }

    /// The slot of a fingerprint's entry, or the slot at which the entry would be inserted.
    @inline(__always)
    func slot(of fingerprint: NameFingerprint) -> Int {
        var slot = home(of: fingerprint)
        while slot < slots.count, !slots[slot].isEmpty, slots[slot].fingerprint < fingerprint { slot += 1 }
        return slot
    }

    @inline(__always)
    func entry(of fingerprint: NameFingerprint, at slot: Int) -> RecordEntry? {
        slot < slots.count && !slots[slot].isEmpty && slots[slot].fingerprint == fingerprint ? slots[slot] : nil
    }

    @inline(__always)
    mutating func replace(_ entry: RecordEntry, at slot: Int) { slots[slot] = entry }

    /// Inserts an entry. Moves the entry in the slot and the entries after it, up to the first free slot, by one slot.
    /// Grows if necessary.
    mutating func insert(_ entry: RecordEntry, at slot: Int, _ zones: ZoneMemory) {
        guard (count + 1) * 8 <= homes * 7, var free = firstFree(from: slot) else {
            grow(zones)
            return insert(entry, at: self.slot(of: entry.fingerprint), zones)
        }
        while free > slot {
            slots[free] = slots[free - 1]
            free -= 1
        }
        slots[slot] = entry
        count += 1
    }

    /// Removes an entry. Moves the following entries back by one slot, up to a free slot or an entry that is at its
    /// home.
    mutating func remove(at slot: Int) {
        var slot = slot
        while slot + 1 < slots.count, !slots[slot + 1].isEmpty, home(of: slots[slot + 1].fingerprint) <= slot {
            slots[slot] = slots[slot + 1]
            slot += 1
        }
        slots[slot] = .empty
        count -= 1
    }

    private func firstFree(from slot: Int) -> Int? {
        var slot = slot
        while slot < slots.count, !slots[slot].isEmpty { slot += 1 }
        return slot < slots.count ? slot : nil
    }

    @inline(__always)
    private func home(of fingerprint: NameFingerprint) -> Int {
        let position = fingerprint.high << RecordTable.partBits | fingerprint.low >> (64 - RecordTable.partBits)
        return Int(truncatingIfNeeded: position.multipliedFullWidth(by: UInt64(homes)).high)
    }

    // MARK: Growth

    /// Drops the entries of records that were deleted with their zone. If that does not make enough room, enlarges the
    /// part by about a quarter.
    private mutating func grow(_ zones: ZoneMemory) {
        let needed = slots.filter { !$0.isEmpty && zones.isLive($0) }
        let isEnough = needed.count < count && needed.count * 8 < homes * 6
        var homes = isEnough ? homes : RecordTablePart.larger(homes)
        while !fill(Array(needed), homes: homes) { homes = RecordTablePart.larger(homes) }
    }

    private static func larger(_ homes: Int) -> Int { max(8, homes * 5 / 4) }

    /// - Returns: False if there is no room for the last entries.
    private mutating func fill(_ entries: [RecordEntry], homes: Int) -> Bool {
        self.homes = max(homes, 8)
        slots = ContiguousArray(repeating: .empty, count: self.homes + self.homes / 64 + 16)
        count = entries.count
        var next = 0
        for entry in entries {
            next = max(next, home(of: entry.fingerprint))
            guard next < slots.count else { return false }
            slots[next] = entry
            next += 1
        }
        return true
    }
}
