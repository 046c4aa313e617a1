import Events
import JSON
import PipelineKit
import Time

/// Builds the push for each notification: headers for APNs, and the payload with its `aps` and `ck` dictionaries.
///
/// The keys of a payload are in alphabetical order, and its strings have as few escapes as possible. So equal
/// notifications with equal badges give payloads with equal bytes. A `badge.set` sets the badge of a user. The stage
/// passes on neither `badge.set` nor `coalesced` events. Events of all other types are passed on unchanged.
package struct PayloadStage: Stage {
    package static let kind = "payload"
    package static let reads: LogKind? = .notifications
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
        let push = Push(notification: notification, badge: badge, expirationSeconds: expirationSeconds(at: now))
        out.append { push.write(into: &$0) }
    }

    private func expirationSeconds(at now: Instant) -> Int64? {
        settings.expiration.map { $0 == .zero ? 0 : now.advanced(by: $0).microseconds / 1_000_000 }
    }
}
