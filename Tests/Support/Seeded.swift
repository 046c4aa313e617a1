import Glibc

/// The random generator SplitMix64 (Steele, Lea, Flood 2014): a seed gives the same numbers on every machine.
package struct Seeded: RandomNumberGenerator {
    private var state: UInt64

    package init(_ seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }

    package mutating func below(_ limit: Int, file: StaticString = #fileID, line: UInt = #line) -> Int {
        precondition(limit > 0, "a random number's limit must be positive, but is \(limit)", file: file, line: line)
        return Int.random(in: 0..<limit, using: &self)
    }

    package mutating func isOneIn(_ count: Int) -> Bool { below(count) == 0 }

    package mutating func one<Element>(
        of items: [Element], file: StaticString = #fileID, line: UInt = #line
    ) -> Element {
        precondition(!items.isEmpty, "the list of items is empty", file: file, line: line)
        return items[below(items.count)]
    }
}

extension Seeded {
    /// The seed of this run of the tests: `BELFRY_SEED`, which `deploy/test` sets, or a random number.
    package static let ofThisRun: UInt64 =
        getenv("BELFRY_SEED").flatMap { UInt64(String(cString: $0)) } ?? UInt64.random(in: 1...999_999)

    /// The seed of this run, and in the full check three fixed seeds.
    package static let seeds: [UInt64] = (Tier.current == .full ? [1, 2, 3] : []) + [ofThisRun]
}
