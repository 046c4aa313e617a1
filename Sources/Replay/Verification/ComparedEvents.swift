/// How many events of a log the replay made identically, and between which sequences.
package struct ComparedEvents: Hashable, Sendable {
    package private(set) var count: UInt64 = 0
    /// From the first to the last of these events; nil if there are none.
    package private(set) var range: ClosedRange<UInt64>?

    mutating func add(_ sequences: ClosedRange<UInt64>) { add(UInt64(sequences.count), in: sequences) }

    mutating func add(_ other: ComparedEvents) {
        if let range = other.range { add(other.count, in: range) }
    }

    private mutating func add(_ more: UInt64, in sequences: ClosedRange<UInt64>) {
        count += more
        range = min(range?.lowerBound ?? .max, sequences.lowerBound)...max(range?.upperBound ?? 0, sequences.upperBound)
    }
}
