import CVector
import JSON

/// The entries of one list that require a record's number in one column to be in an interval.
///
/// The entries are in blocks, which are sorted by the starts of the intervals. Each block stores an upper bound of the
/// ends of its intervals, so a search skips blocks whose intervals all end too early. An interval without a start is
/// stored mirrored: it starts at `~end` and has no end.
struct Intervals {
    /// The ID of the list.
    let parent: UInt32
    let column: Columns.Number
    fileprivate var plain = Run()
    fileprivate var mirrored = Run()

    init(parent: UInt32, column: Columns.Number) { (self.parent, self.column) = (parent, column) }

    var isEmpty: Bool { plain.count + mirrored.count == 0 }

    static func hash(_ parent: UInt32, _ column: Columns.Number) -> Int {
        ByteHash.of(UInt64(parent) << 8 | UInt64(column), salt: 1)
    }

    /// Where an entry is: whether its interval is stored mirrored, and the start of the interval as it is stored.
    struct Start {
        let low: UInt32
        let isMirrored: Bool
    }

    /// Consecutive blocks.
    fileprivate struct Run {
        var start: Int32 = 0
        var count: Int32 = 0
        /// The run has room for 2^`sizeClass` blocks, or for no block if `sizeClass` is -1.
        var sizeClass: Int32 = -1
    }
}

/// All intervals of an index.
///
/// A vector has sixteen intervals, which are compared in one step. A block has one vector or four.
struct IntervalStore {
    /// Up to 64 intervals, in no particular order.
    fileprivate struct Block {
        /// The first vector.
        var vector: Int32
        var count: Int32 = 0
        /// A lower bound of the sort keys in the block, and an upper bound of the sort keys in all earlier blocks.
        var first: UInt64 = .max
        /// An upper bound of the ends of the intervals in the block.
        var end: UInt32 = 0
        /// The number of vectors.
        var vectors: Int32 = 1
    }

    fileprivate static let vectorSize = 16
    private static let vectorsMax: Int32 = 4

    private let blocks = Slab<Block>()
    private var freeBlocks = FreeRanges()
    private let lows = Slab<SIMD16<Int32>>()
    private let highs = Slab<SIMD16<Int32>>()
    /// The bits of the columns that the tests of the entries compare.
    private let neededColumns = Slab<SIMD16<Int32>>()
    private let entries = Slab<SIMD8<UInt32>>()
    private var freeVectors = FreeRanges()
    private var pool = Pool<Intervals>()
    /// The numbers of the ``Intervals`` in `pool`, hashed by the ID of their list and their column.
    private var numbers = HashedNumbers()

    /// Converts a number to a signed number without changing the order, because vector comparisons are signed.
    @inline(__always)
    fileprivate static func signed(_ number: UInt32) -> Int32 { Int32(bitPattern: number ^ 1 << 31) }

    @inline(__always)
    private static func unsigned(_ number: Int32) -> UInt32 { UInt32(bitPattern: number) ^ 1 << 31 }
}

// MARK: - Finding

extension IntervalStore {
    /// Unsafe read access, valid until the next change.
    @unsafe struct View {
        fileprivate let numbers: HashedNumbers.View
        fileprivate let pool: UnsafeBufferPointer<Intervals>
        fileprivate let blocks: UnsafePointer<Block>
        fileprivate let lows: UnsafePointer<SIMD16<Int32>>
        fileprivate let highs: UnsafePointer<SIMD16<Int32>>
        fileprivate let neededColumns: UnsafePointer<SIMD16<Int32>>
        fileprivate let entries: UnsafePointer<SIMD8<UInt32>>
    }

    @inline(__always)
    var view: View {
        unsafe View(
            numbers: numbers.view, pool: pool.view, blocks: blocks.base, lows: lows.base, highs: highs.base,
            neededColumns: neededColumns.base, entries: entries.base)
    }
}

extension IntervalStore.View {
    @inline(__always)
    func find(_ parent: UInt32, _ column: Columns.Number) -> Int32? {
        unsafe numbers.find(Intervals.hash(parent, column)) {
            unsafe pool[Int($0)].parent == parent && pool[Int($0)].column == column
        }
    }

    /// Calls `body` with the entries whose interval contains the number. Leaves out an entry if one of its tests
    /// compares a column whose bit is not in `present`, because that test would fail.
    ///
    /// - Parameters:
    ///   - intervals: The number of an ``Intervals``, from ``find(_:_:)``.
    ///   - present: The ``Forest/bit(_:)`` of each column that has a number.
    @inline(__always)
    func forEach(of intervals: Int32, at number: UInt32, _ present: UInt32, _ body: (EntryView) -> Void) {
        unsafe forEach(of: pool[Int(intervals)].plain, at: number, present, body)
        unsafe forEach(of: pool[Int(intervals)].mirrored, at: ~number, present, body)
    }

    @inline(__always)
    private func forEach(of run: Intervals.Run, at number: UInt32, _ present: UInt32, _ body: (EntryView) -> Void) {
        // The formatter would remove the space in `for unsafe`.
        // swift-format-ignore
        for unsafe block in unsafe UnsafeBufferPointer(start: blocks + Int(run.start), count: Int(run.count)) {
            guard block.first >> 32 <= UInt64(number) else { return }
            if block.end >= number { unsafe visit(block, number, present, body) }
        }
    }

    @inline(__always)
    private func visit(_ block: IntervalStore.Block, _ number: UInt32, _ present: UInt32, _ body: (EntryView) -> Void) {
        let end = Int(block.vector) + Int(block.count + 15) / IntervalStore.vectorSize
        for vector in Int(block.vector)..<end {
            var left = unsafe inside_of_16(
                IntervalStore.View.scalars(lows + vector), IntervalStore.View.scalars(highs + vector),
                IntervalStore.View.scalars(neededColumns + vector), IntervalStore.signed(number), ~present)
            while left != 0 {
                unsafe body(EntryView(entries + (vector * IntervalStore.vectorSize + left.trailingZeroBitCount)))
                left &= left - 1
            }
        }
    }

    @inline(__always)
    private static func scalars(_ vector: UnsafePointer<SIMD16<Int32>>) -> UnsafePointer<Int32> {
        unsafe UnsafeRawPointer(vector).assumingMemoryBound(to: Int32.self)
    }
}

// MARK: - Adding and removing

extension IntervalStore {
    /// - Returns: The number of the ``Intervals`` for a list and a column, and whether this call added the number.
    mutating func intern(_ parent: UInt32, _ column: Columns.Number) -> (number: Int32, isNew: Bool) {
        if let known = unsafe view.find(parent, column) { return (known, false) }
        let number = pool.add(Intervals(parent: parent, column: column))
        numbers.insert(number, Intervals.hash(parent, column))
        return (number, true)
    }

    /// - Returns: The start to pass to ``remove(_:startingAt:from:)``.
    mutating func add(_ entry: Entry, low: UInt32, high: UInt32, to number: Int32) -> Intervals.Start {
        var intervals = pool[number]
        defer { pool[number] = intervals }
        if low <= OrderedKey.min {
            add(entry, low: ~high, high: .max, to: &intervals.mirrored)
            return Intervals.Start(low: ~high, isMirrored: true)
        }
        add(entry, low: low, high: high, to: &intervals.plain)
        return Intervals.Start(low: low, isMirrored: false)
    }

    /// - Returns: The ID of the list if the list has no more intervals of the column; otherwise nil.
    mutating func remove(_ slot: Int32, startingAt start: Intervals.Start, from number: Int32) -> UInt32? {
        var intervals = pool[number]
        let key = IntervalStore.key(start.low, slot)
        if start.isMirrored { remove(key, from: &intervals.mirrored) } else { remove(key, from: &intervals.plain) }
        pool[number] = intervals
        guard intervals.isEmpty else { return nil }
        free(intervals.plain)
        free(intervals.mirrored)
        numbers.remove(number, Intervals.hash(intervals.parent, intervals.column))
        pool.free(number)
        return intervals.parent
    }

    /// The sort key of an interval: its start, then its slot.
    private static func key(_ low: UInt32, _ slot: Int32) -> UInt64 {
        UInt64(low) << 32 | UInt64(UInt32(bitPattern: slot))
    }

    private mutating func add(_ entry: Entry, low: UInt32, high: UInt32, to run: inout Intervals.Run) {
        let key = IntervalStore.key(low, entry.slot)
        if run.count == 0 { insert(at: 0, of: &run) }
        var index = max(blockIndex(of: key, in: run), 0)
        if needsSplitAfterEnlarging(index, of: run) {
            split(index, of: &run)
            if block(index + 1, of: run).first <= key { index += 1 }
        }
        unsafe append(entry.bits, low, high, key, to: &blocks.base[Int(run.start) + index])
    }

    private mutating func remove(_ key: UInt64, from run: inout Intervals.Run) {
        var index = blockIndex(of: key, in: run)
        // A slot may have several intervals with the same start, and they may be in neighbouring blocks.
        while index >= 0 {
            if let position = positions(of: block(index, of: run)).first(where: { self.key(at: $0) == key }) {
                return remove(position, index, from: &run)
            }
            index -= 1
        }
    }

    private func block(_ index: Int, of run: Intervals.Run) -> Block { blocks[Int(run.start) + index] }

    /// The index of the last block that starts at or before a key; -1 if there is no such block.
    private func blockIndex(of key: UInt64, in run: Intervals.Run) -> Int {
        var (low, high) = (0, Int(run.count))
        while low < high {
            let middle = (low + high) / 2
            if block(middle, of: run).first <= key { low = middle + 1 } else { high = middle }
        }
        return low - 1
    }

    private func positions(of block: Block) -> Range<Int> {
        let start = Int(block.vector) * IntervalStore.vectorSize
        return start..<(start + Int(block.count))
    }

    private func key(at position: Int) -> UInt64 {
        IntervalStore.key(low(at: position), Entry(bits: entries[position]).slot)
    }

    private func low(at position: Int) -> UInt32 {
        IntervalStore.unsigned(lows[position / IntervalStore.vectorSize][position % IntervalStore.vectorSize])
    }

    private func high(at position: Int) -> UInt32 {
        IntervalStore.unsigned(highs[position / IntervalStore.vectorSize][position % IntervalStore.vectorSize])
    }

    private func put(_ position: Int, _ entry: SIMD8<UInt32>, _ low: UInt32, _ high: UInt32) {
        let (vector, index) = (position / IntervalStore.vectorSize, position % IntervalStore.vectorSize)
        lows[vector][index] = IntervalStore.signed(low)
        highs[vector][index] = IntervalStore.signed(high)
        neededColumns[vector][index] = Int32(bitPattern: Entry(bits: entry).columnBits)
        entries[position] = entry
    }

    private func append(
        _ entry: SIMD8<UInt32>, _ low: UInt32, _ high: UInt32, _ key: UInt64, to block: inout Block
    ) {
        put(positions(of: block).upperBound, entry, low, high)
        block.count += 1
        block.first = min(block.first, key)
        block.end = max(block.end, high)
    }

    private mutating func remove(_ position: Int, _ index: Int, from run: inout Intervals.Run) {
        let last = positions(of: block(index, of: run)).upperBound - 1
        put(position, entries[last], low(at: last), high(at: last))
        put(last, SIMD8(repeating: 0), .max, 0)
        blocks[Int(run.start) + index].count -= 1
        if block(index, of: run).count == 0 { removeBlock(index, of: &run) }
    }
}

// MARK: - Blocks

extension IntervalStore {
    /// Enlarges the block if it is full and has fewer vectors than the maximum.
    ///
    /// - Returns: Whether the block is full and cannot be enlarged.
    private mutating func needsSplitAfterEnlarging(_ index: Int, of run: Intervals.Run) -> Bool {
        let before = block(index, of: run)
        guard before.count == before.vectors * Int32(IntervalStore.vectorSize) else { return false }
        guard before.vectors < IntervalStore.vectorsMax else { return true }
        var after = newBlock(vectors: IntervalStore.vectorsMax)
        move(all(of: before), to: &after)
        free(before)
        blocks[Int(run.start) + index] = after
        return false
    }

    /// Moves the half with the later starts into a new block.
    private mutating func split(_ index: Int, of run: inout Intervals.Run) {
        let before = block(index, of: run)
        let all = all(of: before).sorted { $0.key < $1.key }
        for position in positions(of: before) { put(position, SIMD8(repeating: 0), .max, 0) }
        insert(at: index + 1, of: &run, vectors: IntervalStore.vectorsMax)
        var first = Block(vector: before.vector, vectors: before.vectors)
        move(all.prefix(all.count / 2), to: &first)
        blocks[Int(run.start) + index] = first
        unsafe move(all.dropFirst(all.count / 2), to: &blocks.base[Int(run.start) + index + 1])
    }

    private struct Interval {
        let key: UInt64
        let high: UInt32
        let entry: SIMD8<UInt32>
    }

    private func all(of block: Block) -> [Interval] {
        positions(of: block).map { Interval(key: key(at: $0), high: high(at: $0), entry: entries[$0]) }
    }

    private func move(_ intervals: some Sequence<Interval>, to block: inout Block) {
        for interval in intervals {
            let low = UInt32(truncatingIfNeeded: interval.key >> 32)
            append(interval.entry, low, interval.high, interval.key, to: &block)
        }
    }

    private mutating func insert(at index: Int, of run: inout Intervals.Run, vectors: Int32 = 1) {
        let block = newBlock(vectors: vectors)
        makeRoom(in: &run)
        for target in stride(from: Int(run.start + run.count), to: Int(run.start) + index, by: -1) {
            blocks[target] = blocks[target - 1]
        }
        blocks[Int(run.start) + index] = block
        run.count += 1
    }

    private mutating func removeBlock(_ index: Int, of run: inout Intervals.Run) {
        free(block(index, of: run))
        run.count -= 1
        for target in (Int(run.start) + index)..<Int(run.start + run.count) { blocks[target] = blocks[target + 1] }
    }

    private mutating func makeRoom(in run: inout Intervals.Run) {
        guard run.sizeClass < 0 || run.count == 1 << run.sizeClass else { return }
        let size = 1 << (run.sizeClass + 1)
        let start = unsafe freeBlocks.take(Int(run.sizeClass + 1)) ?? Int32(blocks.count)
        if unsafe Int(start) == blocks.count { blocks.append(repeating: Block(vector: 0), size) }
        for index in 0..<Int(run.count) { blocks[Int(start) + index] = blocks[Int(run.start) + index] }
        free(run)
        (run.start, run.sizeClass) = (start, run.sizeClass + 1)
    }

    private mutating func free(_ run: Intervals.Run) {
        if run.sizeClass >= 0 { freeBlocks.free(run.start, Int(run.sizeClass)) }
    }

    private mutating func newBlock(vectors: Int32) -> Block {
        let vector = unsafe freeVectors.take(Int(vectors)) ?? Int32(lows.count)
        if unsafe Int(vector) == lows.count {
            lows.append(repeating: SIMD16(repeating: .max), Int(vectors))
            highs.append(repeating: SIMD16(repeating: .min), Int(vectors))
            neededColumns.append(repeating: SIMD16(repeating: 0), Int(vectors))
            entries.append(repeating: SIMD8(repeating: 0), Int(vectors) * IntervalStore.vectorSize)
        }
        return Block(vector: vector, vectors: vectors)
    }

    private mutating func free(_ block: Block) {
        for position in positions(of: block) { put(position, SIMD8(repeating: 0), .max, 0) }
        freeVectors.free(block.vector, Int(block.vectors))
    }
}
