import TestSupport
import Testing

@testable import Match

@Suite struct TextStoreTests {
    @Test(arguments: [UInt64(1), 2, 3])
    func `each text of a store stays unchanged while others are added and removed`(seed: UInt64) {
        var random = Seeded(seed)
        var store = TextStore()
        var all: [(position: TextStore.Position, text: [UInt8])] = []
        for step in 0..<3_000 {
            if random.below(10) < (step < 1_500 ? 7 : 3) || all.isEmpty {
                let count = random.below(20) == 0 ? random.below(9_000) : random.below(300)
                let text = (0..<count).map { _ in UInt8(random.below(256)) }
                all.append((text.withUnsafeBytes { store.add($0) }, text))
            } else {
                store.remove(all.remove(at: random.below(all.count)).position)
            }
            guard !all.isEmpty else { continue }
            let one = random.one(of: all)
            #expect(Array(store[one.position]) == one.text, "seed \(seed), step \(step)")
        }
        for one in all { #expect(Array(store[one.position]) == one.text, "seed \(seed)") }
    }

    @Test func `the space of a removed text is used again`() {
        var store = TextStore()
        for count in [0, 1, 100, 1_020, 1_021, 5_000, 100_000] {
            let text = [UInt8](repeating: 7, count: count)
            let position = text.withUnsafeBytes { store.add($0) }
            store.remove(position)
            #expect(text.withUnsafeBytes { store.add($0) } == position, "\(count) bytes")
        }
    }
}
