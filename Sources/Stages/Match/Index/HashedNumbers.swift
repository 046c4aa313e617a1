/// A hash table of numbers. The caller knows the values that the numbers stand for, and provides their hashes.
///
/// It uses open addressing with linear probing, eight bytes per place, and is at most half full. So a lookup usually needs
/// one memory access.
struct HashedNumbers {
    /// 0 for an empty place. Otherwise the upper half of the hash, and in the lower 32 bits the number plus one.
    private var places: Slab<UInt64>
    private(set) var count = 0

    /// - Parameter capacity: The number of entries for which the table has room before it grows.
    init(capacity: Int = 32) {
        places = Slab(repeating: 0, count: HashedNumbers.placeCount(for: capacity))
    }

    /// All numbers, in no order.
    var all: [Int32] { unsafe places.view.lazy.filter { $0 != 0 }.map { HashedNumbers.number($0) } }

    /// - Parameter isMatch: Whether a number with this hash stands for the wanted value.
    @inline(__always)
    func find(_ hash: Int, where isMatch: (Int32) -> Bool) -> Int32? { unsafe view.find(hash, where: isMatch) }

    /// - Parameter number: 0 or greater, and not in the table yet.
    mutating func insert(_ number: Int32, _ hash: Int) {
        if unsafe (count + 1) * 2 > places.count { unsafe resize(to: places.count * 2) }
        put(HashedNumbers.entry(hash, number))
        count += 1
    }

    /// Removes the number if it is in the table.
    mutating func remove(_ number: Int32, _ hash: Int) {
        guard var gap = unsafe view.place(of: hash, where: { $0 == number }) else { return }
        count -= 1
        // A search stops at an empty place. So each later entry that a search would no longer find moves into the gap.
        var next = following(gap)
        while places[next] != 0 {
            let home = home(of: places[next])
            if unsafe (next &- home) & (places.count - 1) >= (next &- gap) & (places.count - 1) {
                places[gap] = places[next]
                gap = next
            }
            next = following(next)
        }
        places[gap] = 0
    }

    /// Unsafe read access, valid until the next change.
    @unsafe struct View {
        fileprivate let places: UnsafePointer<UInt64>
        fileprivate let mask: Int

        @inline(__always)
        func find(_ hash: Int, where isMatch: (Int32) -> Bool) -> Int32? {
            unsafe place(of: hash, where: isMatch).map { unsafe HashedNumbers.number(places[$0]) }
        }

        @inline(__always)
        fileprivate func place(of hash: Int, where isMatch: (Int32) -> Bool) -> Int? {
            let fingerprint = UInt64(truncatingIfNeeded: hash) >> 32
            var place = unsafe Int(fingerprint) & mask
            while unsafe places[place] != 0 {
                if unsafe places[place] >> 32 == fingerprint, unsafe isMatch(HashedNumbers.number(places[place])) {
                    return place
                }
                place = unsafe (place + 1) & mask
            }
            return nil
        }
    }

    @inline(__always)
    var view: View { unsafe View(places: places.base, mask: places.count - 1) }

    mutating func reserveCapacity(_ count: Int) {
        let wanted = HashedNumbers.placeCount(for: count)
        if unsafe wanted > places.count { resize(to: wanted) }
    }

    private static func placeCount(for capacity: Int) -> Int {
        1 << (Int.bitWidth - max(capacity * 2 - 1, 1).leadingZeroBitCount)
    }

    @inline(__always)
    private func following(_ place: Int) -> Int { unsafe (place + 1) & (places.count - 1) }

    @inline(__always)
    private func home(of entry: UInt64) -> Int { unsafe Int(entry >> 32) & (places.count - 1) }

    @inline(__always)
    private static func entry(_ hash: Int, _ number: Int32) -> UInt64 {
        UInt64(truncatingIfNeeded: hash) & ~0xFFFF_FFFF | UInt64(number) + 1
    }

    @inline(__always)
    private static func number(_ entry: UInt64) -> Int32 { Int32(truncatingIfNeeded: entry & 0xFFFF_FFFF) - 1 }

    private mutating func put(_ entry: UInt64) {
        var place = home(of: entry)
        while places[place] != 0 { place = following(place) }
        places[place] = entry
    }

    private mutating func resize(to count: Int) {
        let before = places
        places = Slab(repeating: 0, count: count)
        // The formatter would remove the space in `for unsafe`.
        // swift-format-ignore
        for unsafe entry in unsafe before.view where entry != 0 { put(entry) }
    }
}
