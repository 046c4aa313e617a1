import TestSupport
import Testing

@testable import Match

@Suite struct IntervalsTests {
    private struct SavedInterval: Equatable {
        let slot: Int32
        /// The ID of one of three lists. One of the lists is often empty.
        let parent: UInt32
        let low: UInt32
        let high: UInt32
        /// The column that the entry's test compares. A search leaves out the entry if `present` lacks this column.
        let column: UInt8
    }

    @Test(arguments: [UInt64(1), 2, 3])
    func `a search finds the intervals that contain a number, also after block splits and removals`(seed: UInt64) {
        var random = Seeded(seed)
        var intervals = IntervalStore()
        var all: [(saved: SavedInterval, start: Intervals.Start, list: Int32)] = []
        for step in 0..<6_000 {
            if random.below(10) < (step < 3_000 ? 7 : 3) || all.isEmpty {
                let saved = draw(&random, slot: Int32(step))
                let list = intervals.intern(saved.parent, 2).number
                all.append((saved, intervals.add(entry(saved), low: saved.low, high: saved.high, to: list), list))
            } else {
                let (gone, start, list) = all.remove(at: random.below(all.count))
                let emptied = intervals.remove(gone.slot, startingAt: start, from: list)
                let isLast = !all.contains { $0.saved.parent == gone.parent }
                #expect(emptied == (isLast ? gone.parent : nil), "seed \(seed), step \(step)")
            }
            guard step.isMultiple(of: 7) else { continue }
            let number = UInt32(random.below(1_000) + 1)
            let present = UInt32(random.below(8))
            for parent in 0..<3 as Range<UInt32> {
                let expected = all.filter {
                    $0.saved.parent == parent && $0.saved.low <= number && number <= $0.saved.high
                        && present & 1 << UInt32($0.saved.column) != 0
                }
                var found: [Int32] = []
                let list = intervals.view.find(parent, 2)
                #expect((list == nil) == !all.contains { $0.saved.parent == parent }, "seed \(seed), step \(step)")
                if let list { intervals.view.forEach(of: list, at: number, present) { found.append($0.slot) } }
                #expect(found.sorted() == expected.map(\.saved.slot).sorted(), "seed \(seed), step \(step)")
            }
        }
        for one in all { _ = intervals.remove(one.saved.slot, startingAt: one.start, from: one.list) }
        #expect((0..<3).allSatisfy { intervals.view.find($0, 2) == nil })
    }

    /// Draws an interval. Many intervals have the same start. Some have no start or no end.
    private func draw(_ random: inout Seeded, slot: Int32) -> SavedInterval {
        let low = random.below(4) == 0 ? OrderedKey.min : UInt32(random.below(60) * 16 + 1)
        let high = random.below(4) == 0 ? OrderedKey.max : low + UInt32(random.below(200))
        let parent = random.below(200) == 0 ? 2 : UInt32(random.below(2))
        return SavedInterval(slot: slot, parent: parent, low: low, high: high, column: UInt8(random.below(3)))
    }

    private func entry(_ saved: SavedInterval) -> Entry {
        Entry(slot: saved.slot, firesOn: .any, tests: [.equal(saved.column, 1)], isCertain: true)
    }

    @Test(arguments: [UInt64(1), 2])
    func `intervals of one slot that begin at the same number can all be removed`(seed: UInt64) {
        var random = Seeded(seed)
        var intervals = IntervalStore()
        let list = intervals.intern(1, 2).number
        let entry = Entry(slot: 7, firesOn: .any, tests: [], isCertain: true)
        let starts = (0..<300).map { intervals.add(entry, low: 5, high: 10 + UInt32($0), to: list) }
        for slot in 0..<300 as Range<Int32> {
            let other = Entry(slot: slot == 7 ? 300 : slot, firesOn: .any, tests: [], isCertain: true)
            _ = intervals.add(other, low: UInt32(random.below(10) + 2), high: 400, to: list)
        }
        for start in starts { _ = intervals.remove(7, startingAt: start, from: list) }
        var left = 0
        intervals.view.forEach(of: list, at: 11, 0) { left += $0.slot == 7 ? 1_000 : 1 }
        #expect(left == 300, "seed \(seed)")
    }
}
