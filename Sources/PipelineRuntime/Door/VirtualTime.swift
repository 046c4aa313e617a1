import Events
import JSON
import PipelineKit
import Time

/// The time of a pipeline in virtual time comes from its input.
package enum VirtualTime {
    /// The time of a line. A line without `time` has the time that the stage has reached, `now`. Nil if the line is
    /// rejected.
    package static func of(_ event: borrowing InputEvent, after now: Instant, into out: inout Outbox) -> Instant? {
        guard let text = event.value[.time] else { return now }
        guard let time = text.string.flatMap({ Instant(rfc3339: $0) }) else {
            out.reject(
                event,
                Rejection(
                    code: "time.invalid", reason: "\"time\" is not in RFC 3339; write it like 2026-11-20T09:30:00Z",
                    path: "time"))
            return nil
        }
        guard time >= now else {
            let reason =
                "\(time.rfc3339) is before \(now.rfc3339), the time of an earlier line; order the lines by time"
            out.reject(event, Rejection(code: "time.backwards", reason: reason, path: "time"))
            return nil
        }
        return time
    }
}
