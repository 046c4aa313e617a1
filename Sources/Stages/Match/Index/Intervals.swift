/// Entries by the interval in which a column's number must lie, in blocks in the order of where the intervals start.
///
/// A block knows the greatest end in it, so that blocks in which all intervals end too soon are passed over. Intervals
/// without a start are kept from their end, mirrored, so that they are in order too.
struct Intervals {
    /// Of the list that they belong to.
    let parent: UInt32
    let column: Columns.Number
    private var plain = Blocks()
    private var mirrored = Blocks()

    init(parent: UInt32, column: Columns.Number) { (self.parent, self.column) = (parent, column) }

    var isEmpty: Bool { plain.isEmpty && mirrored.isEmpty }

    /// Calls `body` with each entry in whose interval the number lies.
    @inline(__always)
    func forEach(at number: UInt32, _ body: (Entry) -> Void) {
        plain.forEach(at: number, body)
        if !mirrored.isEmpty { mirrored.forEach(at: ~number, body) }
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
        if start.isMirrored { mirrored.remove(slot, low: start.key) } else { plain.remove(slot, low: start.key) }
    }

    /// Where an entry was put.
    struct Start {
        let key: UInt32
        let isMirrored: Bool
    }
}

extension Intervals {
    /// Up to 64 intervals each.
    private struct Blocks {
        private static let countMax = 64

        private var blocks: [Block] = []
        /// Of each block's first interval: its start above its slot.
        private var firsts: [UInt64] = []
        /// Not less than any interval's end.
        private var ends: [UInt32] = []

        var isEmpty: Bool { blocks.isEmpty }

        @inline(__always)
        func forEach(at number: UInt32, _ body: (Entry) -> Void) {
            for index in blocks.indices {
                guard firsts[index] >> 32 <= UInt64(number) else { return }
                if ends[index] >= number { blocks[index].forEach(at: number, body) }
            }
        }

        mutating func add(_ entry: Entry, low: UInt32, high: UInt32) {
            let key = UInt64(low) << 32 | UInt64(UInt32(bitPattern: entry.slot))
            let index = self.index(of: key)
            if index < 0 {
                insert(Block(), at: 0, first: key, end: high)
                return blocks[0].add(entry, key, high)
            }
            blocks[index].add(entry, key, high)
            firsts[index] = min(firsts[index], key)
            ends[index] = max(ends[index], high)
            if blocks[index].count == Blocks.countMax { split(index) }
        }

        mutating func remove(_ slot: Int32, low: UInt32) {
            var index = self.index(of: UInt64(low) << 32 | UInt64(UInt32(bitPattern: slot)))
            // A slot may have several intervals that start alike, on both sides of where a block was split.
            while index >= 0, !blocks[index].remove(slot, low) { index -= 1 }
            guard index >= 0, blocks[index].count == 0 else { return }
            blocks.remove(at: index)
            firsts.remove(at: index)
            ends.remove(at: index)
        }

        /// The last block that starts at or before a key; -1 when none does.
        private func index(of key: UInt64) -> Int {
            var (low, high) = (0, firsts.count)
            while low < high {
                let middle = (low + high) / 2
                if firsts[middle] <= key { low = middle + 1 } else { high = middle }
            }
            // What starts before all goes into the first block, unless that is full.
            if low == 0, !blocks.isEmpty, blocks[0].count < Blocks.countMax - 1 { return 0 }
            return low - 1
        }

        private mutating func insert(_ block: Block, at index: Int, first: UInt64, end: UInt32) {
            blocks.insert(block, at: index)
            firsts.insert(first, at: index)
            ends.insert(end, at: index)
        }

        private mutating func split(_ index: Int) {
            let (left, right) = blocks[index].halves
            blocks[index] = left
            (firsts[index], ends[index]) = (left.first, left.end)
            insert(right, at: index + 1, first: right.first, end: right.end)
        }
    }

    /// Intervals in no order, in lanes of sixteen.
    private struct Block {
        private var lows: [SIMD16<UInt32>] = []
        private var highs: [SIMD16<UInt32>] = []
        private var entries: [Entry] = []

        var count: Int { entries.count }

        var first: UInt64 { entries.indices.map { key($0) }.min() ?? 0 }

        var end: UInt32 { entries.indices.map { highs[$0 / 16][$0 % 16] }.max() ?? 0 }

        private func key(_ index: Int) -> UInt64 {
            UInt64(lows[index / 16][index % 16]) << 32 | UInt64(UInt32(bitPattern: entries[index].slot))
        }

        @inline(__always)
        func forEach(at number: UInt32, _ body: (Entry) -> Void) {
            let numbers = SIMD16(repeating: number)
            for group in lows.indices {
                let holds = (lows[group] .<= numbers) .& (highs[group] .>= numbers)
                guard any(holds) else { continue }
                for lane in 0..<16 where holds[lane] { body(entries[group * 16 + lane]) }
            }
        }

        mutating func add(_ entry: Entry, _ key: UInt64, _ high: UInt32) {
            let index = entries.count
            if index % 16 == 0 {
                lows.append(SIMD16(repeating: .max))
                highs.append(SIMD16(repeating: 0))
            }
            lows[index / 16][index % 16] = UInt32(truncatingIfNeeded: key >> 32)
            highs[index / 16][index % 16] = high
            entries.append(entry)
        }

        /// - Returns: Whether it was there.
        mutating func remove(_ slot: Int32, _ low: UInt32) -> Bool {
            let key = UInt64(low) << 32 | UInt64(UInt32(bitPattern: slot))
            guard let index = entries.indices.first(where: { self.key($0) == key }) else { return false }
            let last = entries.count - 1
            lows[index / 16][index % 16] = lows[last / 16][last % 16]
            highs[index / 16][index % 16] = highs[last / 16][last % 16]
            lows[last / 16][last % 16] = .max
            highs[last / 16][last % 16] = 0
            entries[index] = entries[last]
            entries.removeLast()
            if last % 16 == 0 {
                lows.removeLast()
                highs.removeLast()
            }
            return true
        }

        /// Two blocks of which the first has all that start sooner.
        var halves: (Block, Block) {
            let order = entries.indices.sorted { key($0) < key($1) }
            return (part(order.prefix(order.count / 2)), part(order.dropFirst(order.count / 2)))
        }

        private func part(_ indices: some Sequence<Int>) -> Block {
            var block = Block()
            for index in indices { block.add(entries[index], key(index), highs[index / 16][index % 16]) }
            return block
        }
    }
}
