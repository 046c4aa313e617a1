import JSON
import Synchronization

/// Reads earlier events of a stage's own log for the stage. The events never change, so the stage's outputs still
/// depend only on its input.
package protocol PastEvents: AnyObject, Sendable {
    /// Calls `body` with the line of an event that the host has appended. Events that the host has not appended yet are
    /// in the stage's outbox.
    ///
    /// - Returns: False if the event cannot be read. A host then ends the stage.
    func read(_ sequence: UInt64, _ body: (UnsafeRawBufferPointer) -> Void) -> Bool
}

/// Earlier events in memory, for tests and for a pipeline without files.
package final class PastInMemory: PastEvents {
    private let lines = Mutex<[[UInt8]]>([])

    package init() {}

    /// Keeps the lines of an outbox.
    ///
    /// - Parameter count: The number of events that were written before the events of the outbox. Lines that were kept
    ///   already do not change.
    package func keep(_ outbox: borrowing Outbox, after count: Int) {
        let new = outbox.lines.split(separator: UInt8(ascii: "\n")).map(Array.init)
        lines.withLock { lines in
            if count + new.count > lines.count { lines += new.suffix(count + new.count - lines.count) }
        }
    }

    package func read(_ sequence: UInt64, _ body: (UnsafeRawBufferPointer) -> Void) -> Bool {
        let line = lines.withLock { $0.indices.contains(Int(clamping: sequence) - 1) ? $0[Int(sequence) - 1] : nil }
        guard let line else { return false }
        line.withUnsafeBytes(body)
        return true
    }
}
