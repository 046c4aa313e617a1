import EventLog
import JSON
import Time

/// An event of one of a pipeline's logs.
package struct TraceEvent: Hashable, Sendable {
    /// The log's name.
    package var log: String
    package var sequence: UInt64
    var now: Instant
    /// The cursor of the event's batch: how far the stage had read its upstream log.
    var cursor: Cursor
    var line: [UInt8]
    var facts: EventFacts

    init(_ event: LoggedEvent, log: String) {
        self.log = log
        (sequence, now, cursor, line) = (event.sequence, event.now, event.cursor, event.line)
        facts = EventFacts(event.line)
    }

    package var place: EventPlace { EventPlace(log: log, sequence: sequence) }

    var content: [UInt8] { LoggedEvent(sequence: sequence, now: now, line: line).content }
    var type: String { facts.type }
}

extension LoggedEvent {
    /// The event's canonical JSON, equal for events with the same content; the line itself if it is not JSON.
    var content: [UInt8] {
        do { return try withJSON(\.canonical) } catch { return line }
    }
}
