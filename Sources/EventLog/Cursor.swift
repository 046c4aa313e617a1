/// How far something has come in the logs (or producers) that it reads: for each, by name, the last sequence done.
///
/// A batch's cursor holds only the entries that the batch advances. A log's cursor is the fold of its batches'.
public struct Cursor: Hashable, Sendable {
    public var positions: [String: UInt64]

    public init(_ positions: [String: UInt64] = [:]) {
        self.positions = positions
    }

    public var isEmpty: Bool { positions.isEmpty }

    /// Takes over the entries of a later cursor; the later one wins. An entry of 0 forgets the name: no event has that
    /// sequence.
    public mutating func fold(_ later: Cursor) {
        for (name, sequence) in later.positions { positions[name] = sequence == 0 ? nil : sequence }
    }
}
