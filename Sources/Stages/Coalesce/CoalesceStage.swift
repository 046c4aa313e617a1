import EventLog
import PipelineKit

/// Turns matches into notifications, and holds those that a newer one may make stale.
///
/// Notifications with a collapse ID replace each other for one user, silent ones for one subscription; anything else
/// passes at once. A notification stands for all changes that it replaced: the newest says what happened last, so a
/// deletion after a creation is still told.
///
/// Time is event time: what is due at a moment leaves before what arrives at that moment.
public struct CoalesceStage: Stage {
    public static let kind = "coalesce"
    public static let logName = "notifications"

    private let window: Duration
    private let maximumDelay: Duration
    var held = HeldNotifications()
    public private(set) var isUnfinished = false

    public init(_ settings: CoalesceSettings, context: StageContext) throws(SettingsError) {
        window = settings.window
        maximumDelay = settings.maximumDelay
    }

    public var deadline: Instant? { held.deadline }

    public mutating func receive(_ event: borrowing InputEvent, at now: Instant, into out: inout Outbox) {
        if event.isOfType("match") {
            take(event, at: now, into: &out)
        } else if !event.isOfType("not_matched") {
            out.pass(event)
        }
    }

    public mutating func wake(at now: Instant, into out: inout Outbox) { release(dueAt: now, into: &out) }

    public mutating func proceed(at now: Instant, into out: inout Outbox) { release(dueAt: now, into: &out) }

    /// One part of what is due: a public change may have been held for a hundred thousand users.
    private mutating func release(dueAt now: Instant, into out: inout Outbox) {
        while !out.isFull, let notification = held.removeFirst(dueAt: now) {
            out.append { notification.write(into: &$0) }
        }
        isUnfinished = held.deadline.map { $0 <= now } ?? false
    }

    private mutating func take(_ event: borrowing InputEvent, at now: Instant, into out: inout Outbox) {
        do throws(Rejection) {
            let match = try Match(event)
            if window > .zero, let key = HoldKey(match) {
                hold(match, as: key, at: now, into: &out)
            } else {
                out.append { match.writeNotification(causes: CollectionOfOne(match.change), into: &$0) }
            }
        } catch {
            out.reject(event, error)
        }
    }

    private mutating func hold(_ match: Match, as key: HoldKey, at now: Instant, into out: inout Outbox) {
        let due = now.advanced(by: window)
        guard let slot = held.slot(of: key) else {
            let notification = HeldNotification(match, key: key, limit: now.advanced(by: maximumDelay))
            return held.insert(notification, due: due)
        }
        out.append { held[slot].writeCoalesced(replacedBy: match, into: &$0) }
        held[slot].replace(with: match)
        held.move(slot, to: held[slot].isFull ? now : min(due, held[slot].limit))
    }
}
