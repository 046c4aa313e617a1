/// What a set of measured durations looks like, in microseconds. Percentiles are values that were measured (nearest rank).
struct Percentiles: Hashable, Sendable {
    let count: Int
    let p50: Int64
    let p90: Int64
    let p99: Int64
    let max: Int64

    /// - Parameter microseconds: In any order; without any, all percentiles are zero.
    init(_ microseconds: [Int64]) {
        let sorted = microseconds.sorted()
        count = sorted.count
        p50 = Percentiles.value(0.50, of: sorted)
        p90 = Percentiles.value(0.90, of: sorted)
        p99 = Percentiles.value(0.99, of: sorted)
        max = sorted.last ?? 0
    }

    /// The smallest value that at least this share of all values does not exceed.
    static func value(_ share: Double, of sorted: [Int64]) -> Int64 {
        guard !sorted.isEmpty else { return 0 }
        let rank = Int((share * Double(sorted.count)).rounded(.up))
        return sorted[Swift.min(Swift.max(rank, 1), sorted.count) - 1]
    }

    var report: ReportValue {
        .object([
            "p50": .number(Double(p50) / 1_000), "p90": .number(Double(p90) / 1_000),
            "p99": .number(Double(p99) / 1_000), "max": .number(Double(max) / 1_000),
        ])
    }

    /// For people: `p50 3.1 ms, p99 9.8 ms, longest 12.0 ms`.
    var text: String { "p50 \(milliseconds(p50)), p99 \(milliseconds(p99)), longest \(milliseconds(max))" }

    private func milliseconds(_ value: Int64) -> String { "\((Double(value) / 1_000).text(decimals: 1)) ms" }
}

extension Array {
    /// The element in the middle by a measure, the lower one of two.
    func median(by measure: (Element) -> Double) -> Element? {
        isEmpty ? nil : sorted { measure($0) < measure($1) }[(count - 1) / 2]
    }
}

extension [Double] {
    var median: Double { median { $0 } ?? 0 }
}
