import Signing

/// Random numbers from a seed and the name of a stream. Each stream of a seed has its own numbers.
struct WorkloadRandom {
    private var twister: MersenneTwister

    init(seed: UInt64, stream: String) {
        let digest = SHA256.digest(of: "\(seed)/\(stream)")
        twister = MersenneTwister(seed: digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
    }

    /// A number in 0 ..< limit, all with almost the same probability.
    mutating func below(_ limit: Int) -> Int {
        let product = twister.random53Bits().multipliedFullWidth(by: UInt64(limit))
        return Int(product.high << 11 | product.low >> 53)
    }

    /// True with a probability of `percent` percent.
    mutating func chance(_ percent: Int) -> Bool { below(10_000) < percent * 100 }

    /// A number in 0 ..< limit; small numbers are more probable (Zipf's law with exponent 1/2).
    mutating func skewed(_ limit: Int) -> Int {
        let fraction = twister.random53Bits() >> 21
        return Int((fraction * fraction).multipliedFullWidth(by: UInt64(limit)).high)
    }

    /// A random index; its probability is proportional to its weight.
    ///
    /// - Parameter cumulativeWeights: For each index, the sum of its weight and all weights before it, as
    ///   ``cumulativeWeights(_:)`` and ``zipf(_:)`` return them.
    mutating func weighted(_ cumulativeWeights: [Int]) -> Int {
        let number = below(cumulativeWeights[cumulativeWeights.count - 1])
        var (low, high) = (0, cumulativeWeights.count)
        while low < high {
            let middle = (low + high) / 2
            if number < cumulativeWeights[middle] { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// Some of the elements, in random order.
    mutating func sample<Element>(_ elements: [Element], _ count: Int) -> [Element] {
        var elements = elements
        for index in 0..<count { elements.swapAt(index, index + below(elements.count - index)) }
        return Array(elements.prefix(count))
    }

    /// The cumulative weights that follow Zipf's law with exponent 1.
    static func zipf(_ count: Int) -> [Int] { cumulativeWeights((1...count).map { 1_000_000_000_000 / $0 }) }

    static func cumulativeWeights(_ weights: [Int]) -> [Int] {
        var sum = 0
        return weights.map { weight in
            sum += weight
            return sum
        }
    }
}
