import EventLog
import JSON
import PipelineKit

/// Builds the push for each notification: headers for APNs, and the payload with its `aps` and `ck` dictionaries.
///
/// Keys stand in alphabetical order, and strings are written with the fewest escapes, so the same notification is the
/// same bytes.
public struct PayloadStage: Stage {
    public static let kind = "payload"
    public static let logName = "pushes"

    var badges = BadgeCounters()

    public init(_ settings: NoSettings, context: StageContext) throws(SettingsError) {}

    public mutating func receive(_ event: borrowing InputEvent, at now: Instant, into out: inout Outbox) {
        if event.isOfType("notification") {
            push(event, into: &out)
        } else if !event.isOfType("coalesced") {
            out.pass(event)
        }
    }

    private mutating func push(_ event: borrowing InputEvent, into out: inout Outbox) {
        do throws(Rejection) {
            let notification = try Notification(event.json)
            let badge = notification.info.shouldBadge ? badges.increment(for: notification) : 0
            let push = Push(notification: notification, badge: badge)
            out.append { push.write(into: &$0) }
        } catch {
            out.reject(event, error)
        }
    }
}
