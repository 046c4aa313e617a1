import CVector

/// Entries by the interval in which a column's number must lie, in blocks in the order of where the intervals start.
///
/// A block knows the greatest end in it, so that blocks in which all intervals end too soon are passed over. Intervals
/// without a start are kept from their end, mirrored, so that they are in order too.
struct Intervals {
    /// Of the list that they belong to.
    let parent: UInt32
    let column: Columns.Number
    private var plain = IntervalBlocks()
    private var mirrored = IntervalBlocks()

    init(parent: UInt32, column: Columns.Number) { (self.parent, self.column) = (parent, column) }

    var isEmpty: Bool { plain.isEmpty && mirrored.isEmpty }

    /// Calls `body` with each entry in whose interval the number lies, of those with no test of a column that holds
    /// nothing.
    ///
    /// - Parameter present: The bits of columns that hold something.
    @inline(__always)
    func forEach(at number: UInt32, _ present: UInt32, _ body: (EntryView) -> Void) {
        plain.forEach(at: number, present, body)
        mirrored.forEach(at: ~number, present, body)
    }

    /// - Returns: What ``remove(_:startingAt:)`` takes.
    mutating func add(_ entry: Entry, low: UInt32, high: UInt32) -> Start {
        if low <= OrderedKey.min {
            mirrored.add(entry, low: ~high, high: .max)
            return Start(key: ~high, isMirrored: true)
        }
        plain.add(entry, low: low, high: high)
        return Start(key: low, isMirrored: false)
    }

    mutating func remove(_ slot: Int32, startingAt start: Start) {
        let key = IntervalBlocks.key(start.key, slot)
        if start.isMirrored { mirrored.remove(key) } else { plain.remove(key) }
    }

    /// Where an entry was put.
    struct Start {
        let key: UInt32
        let isMirrored: Bool
    }
}

/// Intervals in blocks of up to 64, in no order in a block; sixteen are looked at in one step.
struct IntervalBlocks {
    /// The blocks in order.
    private struct Block {
        /// Where it stands, in lanes.
        var lane: Int32
        var count: Int32
        /// Not greater than the key of any interval in it, and greater than those of all before.
        var first: UInt64
        /// Not less than any interval's end.
        var end: UInt32
    }

    private static let laneSize = 16
    private static let lanesEach = 4
    private static let countMax = 64

    private var blocks: [Block] = []
    private var lows: [SIMD16<Int32>] = []
    private var highs: [SIMD16<Int32>] = []
    /// The bits of the columns that the entries' tests compare.
    private var needs: [SIMD16<Int32>] = []
    private var entries: [SIMD8<UInt32>] = []
    /// Blocks that are not in use, by their lanes.
    private var free: [Int32] = []

    var isEmpty: Bool { blocks.isEmpty }

    /// In the order of where intervals start; of those that start alike, of their slots.
    static func key(_ low: UInt32, _ slot: Int32) -> UInt64 { UInt64(low) << 32 | UInt64(UInt32(bitPattern: slot)) }

    @inline(__always)
    func forEach(at number: UInt32, _ present: UInt32, _ body: (EntryView) -> Void) {
        guard !blocks.isEmpty else { return }
        blocks.withUnsafeBufferPointer { blocks in
            for block in blocks {
                guard block.first >> 32 <= UInt64(number) else { return }
                if block.end >= number { look(block, number, present, body) }
            }
        }
    }

    @inline(__always)
    private func look(_ block: Block, _ number: UInt32, _ present: UInt32, _ body: (EntryView) -> Void) {
        let numbers = IntervalBlocks.signed(number)
        let lanes = Int(block.count + 15) / IntervalBlocks.laneSize
        lows.withUnsafeBytes { lows in
            highs.withUnsafeBytes { highs in
                needs.withUnsafeBytes { needs in
                    entries.withUnsafeBufferPointer { entries in
                        for lane in Int(block.lane)..<(Int(block.lane) + lanes) {
                            var left = inside_of_16(
                                lows.lane(lane), highs.lane(lane), needs.lane(lane), numbers, ~present)
                            while left != 0 {
                                let index = lane * IntervalBlocks.laneSize + left.trailingZeroBitCount
                                left &= left - 1
                                body(EntryView(entries.baseAddress.unsafelyUnwrapped + index))
                            }
                        }
                    }
                }
            }
        }
    }

    /// In the same order; what processors compare many of at a time has a sign.
    @inline(__always)
    private static func signed(_ number: UInt32) -> Int32 { Int32(bitPattern: number ^ 1 << 31) }

    @inline(__always)
    private static func unsigned(_ number: Int32) -> UInt32 { UInt32(bitPattern: number) ^ 1 << 31 }
}

// MARK: - Adding and removing

extension IntervalBlocks {
    mutating func add(_ entry: Entry, low: UInt32, high: UInt32) {
        let key = IntervalBlocks.key(low, entry.slot)
        var index = self.index(of: key)
        if index < 0 {
            index = 0
            if blocks.isEmpty { insert(at: 0) }
        }
        if blocks[index].count == IntervalBlocks.countMax {
            split(index)
            if blocks[index + 1].first <= key { index += 1 }
        }
        append(entry.bits, low, high, to: index)
        blocks[index].first = min(blocks[index].first, key)
        blocks[index].end = max(blocks[index].end, high)
    }

    mutating func remove(_ key: UInt64) {
        var index = index(of: key)
        // A slot may have several intervals that start alike, on both sides of where a block was split.
        while index >= 0 {
            if let position = positions(of: index).first(where: { self.key(at: $0) == key }) {
                return remove(position, from: index)
            }
            index -= 1
        }
    }

    /// The last block that starts at or before a key; -1 when none does.
    private func index(of key: UInt64) -> Int {
        var (low, high) = (0, blocks.count)
        while low < high {
            let middle = (low + high) / 2
            if blocks[middle].first <= key { low = middle + 1 } else { high = middle }
        }
        return low - 1
    }

    private func positions(of index: Int) -> Range<Int> {
        let start = Int(blocks[index].lane) * IntervalBlocks.laneSize
        return start..<(start + Int(blocks[index].count))
    }

    private func key(at position: Int) -> UInt64 {
        IntervalBlocks.key(low(at: position), Entry(bits: entries[position]).slot)
    }

    private func low(at position: Int) -> UInt32 {
        IntervalBlocks.unsigned(lows[position / IntervalBlocks.laneSize][position % IntervalBlocks.laneSize])
    }

    private func high(at position: Int) -> UInt32 {
        IntervalBlocks.unsigned(highs[position / IntervalBlocks.laneSize][position % IntervalBlocks.laneSize])
    }

    private mutating func put(_ position: Int, _ entry: SIMD8<UInt32>, _ low: UInt32, _ high: UInt32) {
        lows[position / IntervalBlocks.laneSize][position % IntervalBlocks.laneSize] = IntervalBlocks.signed(low)
        highs[position / IntervalBlocks.laneSize][position % IntervalBlocks.laneSize] = IntervalBlocks.signed(high)
        needs[position / IntervalBlocks.laneSize][position % IntervalBlocks.laneSize] = Int32(
            bitPattern: Entry(bits: entry).columnBits)
        entries[position] = entry
    }

    private mutating func append(_ entry: SIMD8<UInt32>, _ low: UInt32, _ high: UInt32, to index: Int) {
        put(positions(of: index).upperBound, entry, low, high)
        blocks[index].count += 1
    }

    private mutating func insert(at index: Int) {
        let lane = free.popLast() ?? Int32(lows.count)
        if Int(lane) == lows.count {
            for _ in 0..<IntervalBlocks.lanesEach {
                lows.append(SIMD16(repeating: .max))
                highs.append(SIMD16(repeating: .min))
                needs.append(SIMD16(repeating: 0))
            }
            for _ in 0..<IntervalBlocks.countMax { entries.append(SIMD8(repeating: 0)) }
        }
        blocks.insert(Block(lane: lane, count: 0, first: .max, end: 0), at: index)
    }

    private mutating func remove(_ position: Int, from index: Int) {
        let last = positions(of: index).upperBound - 1
        put(position, entries[last], low(at: last), high(at: last))
        put(last, SIMD8(repeating: 0), .max, 0)
        blocks[index].count -= 1
        guard blocks[index].count == 0 else { return }
        free.append(blocks[index].lane)
        blocks.remove(at: index)
    }

    /// Moves the half that starts later into a block of its own.
    private mutating func split(_ index: Int) {
        let all = positions(of: index).map { (key: key(at: $0), high: high(at: $0), entry: entries[$0]) }
            .sorted { $0.key < $1.key }
        for position in positions(of: index) { put(position, SIMD8(repeating: 0), .max, 0) }
        insert(at: index + 1)
        blocks[index] = Block(lane: blocks[index].lane, count: 0, first: .max, end: 0)
        for (number, one) in all.enumerated() {
            let half = number < all.count / 2 ? index : index + 1
            append(one.entry, UInt32(truncatingIfNeeded: one.key >> 32), one.high, to: half)
            blocks[half].first = min(blocks[half].first, one.key)
            blocks[half].end = max(blocks[half].end, one.high)
        }
    }
}

extension UnsafeRawBufferPointer {
    @inline(__always)
    fileprivate func lane(_ index: Int) -> UnsafePointer<Int32> {
        (baseAddress.unsafelyUnwrapped + index * MemoryLayout<SIMD16<Int32>>.size).assumingMemoryBound(to: Int32.self)
    }
}
