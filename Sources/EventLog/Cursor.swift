/// Numbers by name, which say how far the stage of a log has come in its input. The number under the name of an
/// upstream log is the sequence of the last event of that log that the stage has processed. The host also stores other
/// numbers, such as the positions of producers.
///
/// A batch's cursor has only the entries that the batch changes. A log's cursor combines the cursors of all its
/// batches.
package struct Cursor: Hashable, Sendable {
    package var positions: [String: UInt64]

    package init(_ positions: [String: UInt64] = [:]) {
        self.positions = positions
    }

    package var isEmpty: Bool { positions.isEmpty }

    /// Adds the entries of a later cursor, which replace entries of the same name. No event has the sequence 0, so an
    /// entry of 0 removes its name.
    package mutating func fold(_ later: Cursor) {
        for (name, sequence) in later.positions { positions[name] = sequence == 0 ? nil : sequence }
    }
}
