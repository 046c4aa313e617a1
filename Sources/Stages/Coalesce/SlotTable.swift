/// A hash table of slots, with open addressing. It stores only the numbers of the slots, in four bytes each. Its owner
/// has the hashes and the keys.
struct SlotTable {
    /// The number of the slot plus one; 0 if the cell is free.
    private var cells: [UInt32] = []
    private(set) var count = 0

    /// The slot with this hash that is wanted; nil if there is no such slot.
    ///
    /// - Parameter isWanted: Compares a slot's hash and key with the wanted ones. Also called for slots with other
    ///   hashes.
    @inline(__always)
    func first(_ hash: UInt32, where isWanted: (Int) -> Bool) -> Int? {
        cell(hash, where: isWanted).map { Int(cells[$0] - 1) }
    }

    /// - Parameter hash: The hash of each slot in the table, and of the new slot.
    mutating func insert(_ slot: Int, _ hash: (Int) -> UInt32) {
        if (count + 1) * 8 > cells.count * 7 { grow(hash) }
        place(slot, hash(slot))
        count += 1
    }

    /// Puts another slot with the same hash in the place of a slot.
    mutating func replace(_ slot: Int, with other: Int, _ hash: UInt32) {
        guard let cell = cell(hash, where: { $0 == slot }) else {
            preconditionFailure("slot \(slot) is not in the table")
        }
        cells[cell] = UInt32(other) + 1
    }

    /// Removes a slot. Later slots move back, so that no free cell lies between a slot and the cell where the search
    /// for this slot begins.
    mutating func remove(_ slot: Int, _ hash: (Int) -> UInt32) {
        guard var free = cell(hash(slot), where: { $0 == slot }) else {
            preconditionFailure("slot \(slot) is not in the table")
        }
        var cell = free
        while true {
            cell = next(cell)
            guard cells[cell] != 0 else { break }
            let home = home(hash(Int(cells[cell] - 1)))
            guard distance(from: home, to: cell) >= distance(from: free, to: cell) else { continue }
            cells[free] = cells[cell]
            free = cell
        }
        cells[free] = 0
        count -= 1
    }

    @inline(__always)
    private func cell(_ hash: UInt32, where isWanted: (Int) -> Bool) -> Int? {
        guard count > 0 else { return nil }
        var cell = home(hash)
        while cells[cell] != 0 {
            if isWanted(Int(cells[cell] - 1)) { return cell }
            cell = next(cell)
        }
        return nil
    }

    @inline(__always)
    private func home(_ hash: UInt32) -> Int { Int((UInt64(hash) * UInt64(cells.count)) >> 32) }

    @inline(__always)
    private func next(_ cell: Int) -> Int { cell + 1 == cells.count ? 0 : cell + 1 }

    private func distance(from start: Int, to end: Int) -> Int {
        end >= start ? end - start : end - start + cells.count
    }

    private mutating func place(_ slot: Int, _ hash: UInt32) {
        var cell = home(hash)
        while cells[cell] != 0 { cell = next(cell) }
        cells[cell] = UInt32(slot) + 1
    }

    private mutating func grow(_ hash: (Int) -> UInt32) {
        let old = cells
        cells = Array(repeating: 0, count: max(16, old.count * 3 / 2))
        for number in old where number != 0 { place(Int(number - 1), hash(Int(number - 1))) }
    }
}
