/// How far something has come in the logs (or producers) that it reads: for each, by name, the last sequence done.
///
/// A batch's cursor holds only the entries that the batch advances. A log's cursor is the fold of its batches'.
package struct Cursor: Hashable, Sendable {
    package var positions: [String: UInt64]

    package init(_ positions: [String: UInt64] = [:]) {
        self.positions = positions
    }

    package var isEmpty: Bool { positions.isEmpty }

    /// Takes over the entries of a later cursor; the later one wins. An entry of 0 forgets the name: no event has that
    /// sequence.
    package mutating func fold(_ later: Cursor) {
        for (name, sequence) in later.positions { positions[name] = sequence == 0 ? nil : sequence }
    }
}
