import TestSupport
import Testing

@testable import Match

@Suite struct SlabTests {
    @Test func `a slab keeps its values while it grows into huge pages`() {
        let slab = Slab<SIMD4<UInt64>>()
        var model: [SIMD4<UInt64>] = []
        var random = Seeded(1)
        // The values have 32 bytes each, and need more than two huge pages of two megabytes.
        while model.count < 200_000 {
            let value = SIMD4<UInt64>(repeating: UInt64(random.below(1 << 30)))
            let count = random.below(3) == 0 ? random.below(900) : 1
            if count == 1 { slab.append(value) } else { slab.append(repeating: value, count) }
            model += Array(repeating: value, count: count)
            let index = random.below(model.count + 1)
            guard index < model.count else { continue }
            slab[index] = .one
            model[index] = .one
        }
        #expect(Array(slab.view) == model)
        slab.removeAll()
        #expect(slab.view.isEmpty)
    }

    @Test func `a slab appends bytes unchanged`() {
        let slab = Slab<UInt8>()
        let all = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 * 7) }
        for start in stride(from: 0, to: all.count, by: 125) {
            all[start..<(start + 125)].withUnsafeBytes { slab.append(contentsOf: $0) }
        }
        slab.append(contentsOf: UnsafeRawBufferPointer(start: nil, count: 0))
        #expect(Array(slab.view) == all)
    }
}
