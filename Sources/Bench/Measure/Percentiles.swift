/// Percentiles of measured durations, by nearest rank: each is one of the durations.
///
/// The percentiles have the unit of the durations. ``report`` and ``text`` expect microseconds.
struct Percentiles: Hashable, Sendable {
    let count: Int
    let p50: Int64
    let p90: Int64
    let p99: Int64
    let max: Int64

    /// - Parameter durations: In any order. Without durations all percentiles are zero.
    init(_ durations: [Int64]) {
        let sorted = durations.sorted()
        func percentile(_ share: Double) -> Int64 {
            guard !sorted.isEmpty else { return 0 }
            let rank = Int((share * Double(sorted.count)).rounded(.up))
            return sorted[Swift.min(Swift.max(rank, 1), sorted.count) - 1]
        }
        count = sorted.count
        (p50, p90, p99) = (percentile(0.50), percentile(0.90), percentile(0.99))
        max = sorted.last ?? 0
    }

    var report: ReportValue {
        .object([
            "p50": .number(Double(p50) / 1_000), "p90": .number(Double(p90) / 1_000),
            "p99": .number(Double(p99) / 1_000), "max": .number(Double(max) / 1_000),
        ])
    }

    /// `p50 3.1 ms, p99 9.8 ms, longest 12.0 ms`.
    var text: String { "p50 \(milliseconds(p50)), p99 \(milliseconds(p99)), longest \(milliseconds(max))" }

    private func milliseconds(_ value: Int64) -> String { "\((Double(value) / 1_000).text(decimals: 1)) ms" }
}

extension Array {
    /// The median element by a value; of an even number of elements, the lower of the two in the middle.
    func median(by value: (Element) -> Double) -> Element? {
        isEmpty ? nil : sorted { value($0) < value($1) }[(count - 1) / 2]
    }
}

extension [Double] {
    var median: Double { median { $0 } ?? 0 }
}
