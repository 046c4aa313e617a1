/// The generator MT19937 (Matsumoto, Nishimura 1998). It is seeded like Python's `random.Random(number)`, so a program
/// in Python gets the same numbers from the same seed.
struct MersenneTwister {
    private static let length = 624

    private var state = [UInt32](repeating: 0, count: MersenneTwister.length)
    private var next = MersenneTwister.length

    /// Seeds with the low 32 bits of the number. If the high 32 bits are not zero, they follow as a second word.
    init(seed: UInt64) {
        let high = UInt32(truncatingIfNeeded: seed >> 32)
        mix([UInt32(truncatingIfNeeded: seed)] + (high > 0 ? [high] : []))
    }

    private mutating func mix(_ key: [UInt32]) {
        state[0] = 19_650_218
        for index in 1..<state.count { state[index] = scrambled(index, 1_812_433_253) &+ UInt32(index) }
        var (index, keyIndex) = (1, 0)
        for _ in 0..<max(state.count, key.count) {
            state[index] = (state[index] ^ scrambled(index, 1_664_525)) &+ key[keyIndex] &+ UInt32(keyIndex)
            index = following(index)
            keyIndex = (keyIndex + 1) % key.count
        }
        for _ in 1..<state.count {
            state[index] = (state[index] ^ scrambled(index, 1_566_083_941)) &- UInt32(index)
            index = following(index)
        }
        state[0] = 0x8000_0000
    }

    private func scrambled(_ index: Int, _ factor: UInt32) -> UInt32 {
        (state[index - 1] ^ state[index - 1] >> 30) &* factor
    }

    /// The index after this index. After the last index, copies the last word to the first word, and continues with
    /// index 1.
    private mutating func following(_ index: Int) -> Int {
        guard index + 1 == state.count else { return index + 1 }
        state[0] = state[index]
        return 1
    }

    /// A number in 0 ..< 2^53: Python's `random()` before it is divided by 2^53.
    mutating func random53Bits() -> UInt64 {
        let high = UInt64(word() >> 5)
        return high << 26 | UInt64(word() >> 6)
    }

    private mutating func word() -> UInt32 {
        if next == state.count { generate() }
        var word = state[next]
        next += 1
        word ^= word >> 11
        word ^= word << 7 & 0x9D2C_5680
        word ^= word << 15 & 0xEFC6_0000
        return word ^ word >> 18
    }

    private mutating func generate() {
        for index in state.indices {
            let pair = state[index] & 0x8000_0000 | state[(index + 1) % state.count] & 0x7FFF_FFFF
            state[index] = state[(index + 397) % state.count] ^ pair >> 1 ^ (pair & 1 == 0 ? 0 : 0x9908_B0DF)
        }
        next = 0
    }
}
