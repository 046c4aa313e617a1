import TestSupport
import Testing

@testable import Match

@Suite struct IntervalsTests {
    private struct Saved: Equatable {
        let slot: Int32
        let low: UInt32
        let high: UInt32
        let column: UInt8
    }

    @Test(arguments: [UInt64(1), 2, 3])
    func `a number finds the intervals that it lies in, through splits and removals`(seed: UInt64) {
        var random = Seeded(seed)
        var intervals = Intervals(parent: 1, column: 2)
        var all: [(saved: Saved, start: Intervals.Start)] = []
        for step in 0..<4_000 {
            if random.below(10) < (step < 2_000 ? 7 : 3) || all.isEmpty {
                let saved = draw(&random, slot: Int32(step))
                let start = intervals.add(entry(saved), low: saved.low, high: saved.high)
                all.append((saved, start))
            } else {
                let (gone, start) = all.remove(at: random.below(all.count))
                intervals.remove(gone.slot, startingAt: start)
            }
            guard step.isMultiple(of: 7) else { continue }
            let number = UInt32(random.below(1_000) + 1)
            let present = UInt32(random.below(8))
            let expected = all.filter {
                $0.saved.low <= number && number <= $0.saved.high && present & 1 << UInt32($0.saved.column) != 0
            }
            var found: [Int32] = []
            intervals.forEach(at: number, present) { found.append($0.slot) }
            #expect(found.sorted() == expected.map(\.saved.slot).sorted(), "seed \(seed), step \(step)")
        }
        for one in all { intervals.remove(one.saved.slot, startingAt: one.start) }
        #expect(intervals.isEmpty)
    }

    /// Many start alike, some have no start or no end.
    private func draw(_ random: inout Seeded, slot: Int32) -> Saved {
        let low = random.below(4) == 0 ? OrderedKey.min : UInt32(random.below(60) * 16 + 1)
        let high = random.below(4) == 0 ? OrderedKey.max : low + UInt32(random.below(200))
        return Saved(slot: slot, low: low, high: high, column: UInt8(random.below(3)))
    }

    private func entry(_ saved: Saved) -> Entry {
        Entry(slot: saved.slot, firesOn: .any, tests: [.equal(saved.column, 1)], isCertain: true)
    }

    @Test(arguments: [UInt64(1), 2])
    func `several intervals of one slot that start alike are all removed`(seed: UInt64) {
        var random = Seeded(seed)
        var blocks = IntervalBlocks()
        let entry = Entry(slot: 7, firesOn: .any, tests: [], isCertain: true)
        for number in 0..<300 { blocks.add(entry, low: 5, high: 10 + UInt32(number)) }
        for slot in 0..<300 as Range<Int32> {
            let other = Entry(slot: slot == 7 ? 300 : slot, firesOn: .any, tests: [], isCertain: true)
            blocks.add(other, low: UInt32(random.below(10) + 1), high: 400)
        }
        for _ in 0..<300 { blocks.remove(IntervalBlocks.key(5, 7)) }
        var left = 0
        blocks.forEach(at: 10, 0) { left += $0.slot == 7 ? 1_000 : 1 }
        #expect(left == 300, "seed \(seed)")
    }
}
