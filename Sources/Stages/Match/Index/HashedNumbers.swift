/// A hash table of numbers. The caller knows the values that the numbers stand for, and provides their hashes.
///
/// It uses open addressing with linear probing, eight bytes per slot, and is at most half full. So a lookup usually
/// needs one memory access.
struct HashedNumbers {
    /// 0 for an empty slot. Otherwise the upper half of the hash, and in the lower 32 bits the number plus one.
    private var slots: Slab<UInt64>
    private(set) var count = 0

    /// - Parameter capacity: The number of entries for which the table has room before it grows.
    init(capacity: Int = 32) {
        slots = Slab(repeating: 0, count: HashedNumbers.slotCount(for: capacity))
    }

    /// All numbers, in no particular order.
    var all: [Int32] { unsafe slots.view.lazy.filter { $0 != 0 }.map { HashedNumbers.number($0) } }

    /// - Parameter isMatch: Whether a number with this hash stands for the wanted value.
    @inline(__always)
    func find(_ hash: Int, where isMatch: (Int32) -> Bool) -> Int32? { unsafe view.find(hash, where: isMatch) }

    /// - Parameter number: 0 or greater, and not in the table yet.
    mutating func insert(_ number: Int32, _ hash: Int) {
        if unsafe (count + 1) * 2 > slots.count { unsafe resize(to: slots.count * 2) }
        put(HashedNumbers.entry(hash, number))
        count += 1
    }

    /// Removes the number if it is in the table.
    mutating func remove(_ number: Int32, _ hash: Int) {
        guard var gap = unsafe view.slot(of: hash, where: { $0 == number }) else { return }
        count -= 1
        // A search stops at an empty slot. So each later entry that a search would no longer find moves into the gap.
        var next = following(gap)
        while slots[next] != 0 {
            let home = home(of: slots[next])
            if unsafe (next &- home) & (slots.count - 1) >= (next &- gap) & (slots.count - 1) {
                slots[gap] = slots[next]
                gap = next
            }
            next = following(next)
        }
        slots[gap] = 0
    }

    /// Unsafe read access, valid until the next change.
    @unsafe struct View {
        fileprivate let slots: UnsafePointer<UInt64>
        fileprivate let mask: Int

        @inline(__always)
        func find(_ hash: Int, where isMatch: (Int32) -> Bool) -> Int32? {
            unsafe slot(of: hash, where: isMatch).map { unsafe HashedNumbers.number(slots[$0]) }
        }

        @inline(__always)
        fileprivate func slot(of hash: Int, where isMatch: (Int32) -> Bool) -> Int? {
            let fingerprint = UInt64(truncatingIfNeeded: hash) >> 32
            var slot = unsafe Int(fingerprint) & mask
            while unsafe slots[slot] != 0 {
                if unsafe slots[slot] >> 32 == fingerprint, unsafe isMatch(HashedNumbers.number(slots[slot])) {
                    return slot
                }
                slot = unsafe (slot + 1) & mask
            }
            return nil
        }
    }

    @inline(__always)
    var view: View { unsafe View(slots: slots.base, mask: slots.count - 1) }

    mutating func reserveCapacity(_ count: Int) {
        let wanted = HashedNumbers.slotCount(for: count)
        if unsafe wanted > slots.count { resize(to: wanted) }
    }

    private static func slotCount(for capacity: Int) -> Int {
        1 << (Int.bitWidth - max(capacity * 2 - 1, 1).leadingZeroBitCount)
    }

    @inline(__always)
    private func following(_ slot: Int) -> Int { unsafe (slot + 1) & (slots.count - 1) }

    @inline(__always)
    private func home(of entry: UInt64) -> Int { unsafe Int(entry >> 32) & (slots.count - 1) }

    @inline(__always)
    private static func entry(_ hash: Int, _ number: Int32) -> UInt64 {
        UInt64(truncatingIfNeeded: hash) & ~0xFFFF_FFFF | UInt64(number) + 1
    }

    @inline(__always)
    private static func number(_ entry: UInt64) -> Int32 { Int32(truncatingIfNeeded: entry & 0xFFFF_FFFF) - 1 }

    private mutating func put(_ entry: UInt64) {
        var slot = home(of: entry)
        while slots[slot] != 0 { slot = following(slot) }
        slots[slot] = entry
    }

    private mutating func resize(to count: Int) {
        let before = slots
        slots = Slab(repeating: 0, count: count)
        // The formatter would remove the space in `for unsafe`.
        // swift-format-ignore
        for unsafe entry in unsafe before.view where entry != 0 { put(entry) }
    }
}
