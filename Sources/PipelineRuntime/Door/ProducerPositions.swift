import EventLog

/// How far each producer has come. Only so many are remembered: each `belfry send` without a name is a new producer.
struct ProducerPositions {
    /// Producers that may be resumed; beyond that, the one that has been silent longest is forgotten.
    static let producersMax = 4_096

    private struct Position {
        var through: UInt64
        var used: UInt64
    }

    private var positions: [String: Position]
    private var uses: UInt64 = 0
    /// The entries for the cursor of the next batch; 0 for a producer that was forgotten.
    private(set) var changes = Cursor()

    init(_ cursor: Cursor) { positions = cursor.positions.mapValues { Position(through: $0, used: 0) } }

    subscript(producer: String) -> UInt64 { positions[producer]?.through ?? 0 }

    var hasChanged: Bool { !changes.isEmpty }

    mutating func advance(_ producer: String, to through: UInt64) {
        guard through > self[producer] else { return }
        if positions[producer] == nil, positions.count >= Self.producersMax { forgetOldest() }
        uses += 1
        positions[producer] = Position(through: through, used: uses)
        changes.positions[producer] = through
    }

    /// Takes note that the batch was appended.
    mutating func settleChanges() { changes = Cursor() }

    private mutating func forgetOldest() {
        let oldest = positions.min { ($0.value.used, $0.key) < ($1.value.used, $1.key) }
        guard let oldest else { return }
        positions[oldest.key] = nil
        changes.positions[oldest.key] = 0
    }
}
