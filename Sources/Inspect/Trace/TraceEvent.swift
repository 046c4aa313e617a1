import EventLog
import JSON
import Time

/// An event of one of a pipeline's logs, and what it says.
package struct TraceEvent: Hashable, Sendable {
    /// The log's name.
    package var log: String
    package var sequence: UInt64
    /// When its batch was made.
    var now: Instant
    /// The cursor of its batch: how far the stage had come in its upstream.
    var cursor: Cursor
    /// The JSON object as it stands in the log.
    var line: [UInt8]
    var facts: EventFacts

    init(_ event: LoggedEvent, log: String) {
        self.log = log
        (sequence, now, cursor, line) = (event.sequence, event.now, event.cursor, event.line)
        facts = EventFacts(event.line)
    }

    package var place: EventPlace { EventPlace(log: log, sequence: sequence) }

    /// What it says, however it is written.
    var content: [UInt8] { LoggedEvent(sequence: sequence, now: now, line: line).content }
    var type: String { facts.type }
}

extension LoggedEvent {
    /// The canonical form of the event, which is JSON; the line as it stands where it is not.
    var content: [UInt8] {
        do { return try withJSON(\.canonical) } catch { return line }
    }
}
