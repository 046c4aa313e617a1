import Events
import JSON
import PipelineKit
import Time

/// Builds the push for each notification: headers for APNs, and the payload with its `aps` and `ck` dictionaries.
///
/// Keys stand in alphabetical order, and strings are written with the fewest escapes, so the same notification is the
/// same bytes. A `badge.set` sets what badges count from, and ends here.
package struct PayloadStage: Stage {
    package static let kind = "payload"
    package static let writes: LogKind? = .pushes

    private let settings: PayloadSettings
    var badges = BadgeCounters()

    package init(_ settings: PayloadSettings, context: StageContext) throws(SettingsError) { self.settings = settings }

    package mutating func receive(_ event: borrowing InputEvent, at now: Instant, into out: inout Outbox) {
        do throws(Rejection) {
            if event.isOfType(EventName.notification) {
                try push(event.json, at: now, into: &out)
            } else if event.isOfType(EventName.badgeSet) {
                try badges.set(BadgeSetting(event.value))
            } else if !event.isOfType(EventName.coalesced) {
                out.pass(event)
            }
        } catch {
            out.reject(event, error)
        }
    }

    private mutating func push(_ event: JSONView, at now: Instant, into out: inout Outbox) throws(Rejection) {
        let notification = try Notification(event)
        let badge = notification.info.shouldBadge ? badges.increment(for: notification) : Badge()
        let push = Push(notification: notification, badge: badge, expiration: expiration(at: now))
        out.append { push.write(into: &$0) }
    }

    private func expiration(at now: Instant) -> Expiration? {
        settings.expiration.map { Expiration($0, from: now) }
    }
}
