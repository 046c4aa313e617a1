import Events
import JSON
import PipelineKit
import Time

/// Turns matches into notifications. Holds each notification that a newer one may replace, for as long as the policy
/// says, but no longer than the maximum delay. A notification may leave earlier because of the limit per user, or
/// because it lists ``HeldNotification/causesMax`` changes.
///
/// A newer notification replaces a held one of the same user with the same collapse ID. A newer silent notification
/// without a collapse ID replaces a held one of the same subscription. Notifications of all other kinds leave at once.
/// A notification lists all changes that it stands for and describes the newest, so a deletion after a creation is
/// still reported.
///
/// If a notification is due when a match arrives, the notification leaves before the match can replace it. A
/// `not_matched` event ends here. Events of all other types are passed on unchanged.
package struct CoalesceStage: Stage {
    package static let kind = "coalesce"
    package static let reads: LogKind? = .matches
    package static let writes: LogKind? = .notifications

    private let policy: any CoalescingPolicy
    /// How long the stage remembers when a notification of a key left.
    private let memory: Duration
    private let settings: CoalesceSettings
    var held = HeldNotifications()
    package private(set) var isUnfinished = false

    package init(_ settings: CoalesceSettings, context: StageContext) throws(SettingsError) {
        policy = try context.registry.policy(settings.policy, times: settings.times)
        memory = min(max(policy.memory, .zero), .seconds(36_000))
        self.settings = settings
    }

    package var deadline: Instant? { held.deadline }

    package mutating func receive(_ event: borrowing InputEvent, at now: Instant, into out: inout Outbox) {
        if event.isOfType(EventName.match) {
            coalesce(event, at: now, into: &out)
        } else if !event.isOfType(EventName.notMatched) {
            out.pass(event)
        }
    }

    package mutating func wake(at now: Instant, into out: inout Outbox) { release(dueAt: now, into: &out) }

    package mutating func proceed(at now: Instant, into out: inout Outbox) { release(dueAt: now, into: &out) }

    /// Releases due notifications until the outbox is full. Many notifications may be due at once: a change in a public
    /// database may have notifications for a hundred thousand users.
    private mutating func release(dueAt now: Instant, into out: inout Outbox) {
        while !out.isFull, let notification = held.removeFirst(dueAt: now, isRemembered: memory > .zero) {
            out.append { notification.write(into: &$0) }
        }
        isUnfinished = held.deadline.map { $0 <= now } ?? false
    }

    private mutating func coalesce(_ event: borrowing InputEvent, at now: Instant, into out: inout Outbox) {
        if event.value.namesTypeFirst {
            do throws(Rejection) { coalesce(try Match(event.json, event.sequence), at: now, into: &out) } catch {
                out.reject(event, error)
            }
        } else {
            coalesceReordered(event, at: now, into: &out)
        }
    }

    /// Coalesces a match whose type is not its first member. A plugin before this stage may write such a match. The
    /// notification has its type first.
    private mutating func coalesceReordered(_ event: borrowing InputEvent, at now: Instant, into out: inout Outbox) {
        let text = event.value.withTypeFirst
        var parser = JSONParser(limits: HeldNotification.limits)
        do {
            try text.withUnsafeBytes {
                coalesce(try Match(JSONView(parser.parse($0)), event.sequence), at: now, into: &out)
            }
        } catch {
            out.reject(event, error as? Rejection ?? Rejection(code: "match.json", reason: "\(error)", path: ""))
        }
    }

    private mutating func coalesce(_ match: Match, at now: Instant, into out: inout Outbox) {
        held.forget(after: memory, at: now)
        if match.isReplaceable {
            coalesceReplaceable(match, at: now, into: &out)
        } else {
            pass(match, into: &out)
        }
    }

    /// Makes a key only if it is needed, because making a key costs as much as all other steps together.
    private mutating func coalesceReplaceable(_ match: Match, at now: Instant, into out: inout Outbox) {
        let key = held.isEmpty ? nil : HoldKey(match)
        let slot = key.flatMap { held.slot(of: $0) }
        let due = due(match, slot, at: now)
        if let slot, held.isHeld(slot) {
            replace(slot, with: match, due: due, at: now, into: &out)
        } else if due > now {
            hold(match, as: key ?? HoldKey(match), due: due, at: now, into: &out)
        } else {
            pass(match, into: &out)
            if memory > .zero { held.note(slot, key ?? HoldKey(match), leftAt: now) }
        }
    }

    /// When the notification leaves according to the policy, but not after the maximum delay.
    private func due(_ match: Match, _ slot: Int?, at now: Instant) -> Instant {
        var (earlier, limit) = (CoalescingArrival.Held?.none, now.advanced(by: settings.maximumDelay))
        if let slot, held.isHeld(slot) {
            earlier = .init(since: held[slot].since, due: held.due(slot), changes: held[slot].causeCount)
            limit = held[slot].limit
        }
        let arrival = CoalescingArrival(
            now: now, match: JSONView(match.json), held: earlier, lastLeft: slot.flatMap { held.lastLeft($0) })
        return max(now, min(policy.due(arrival), limit))
    }

    private mutating func replace(
        _ slot: Int, with match: Match, due: Instant, at now: Instant, into out: inout Outbox
    ) {
        out.append { held[slot].writeCoalesced(replacedBy: match, into: &$0) }
        held.replace(slot, with: match)
        held.move(slot, to: held[slot].isFull ? now : due)
    }

    private mutating func hold(
        _ match: Match, as key: HoldKey, due: Instant, at now: Instant, into out: inout Outbox
    ) {
        guard makeRoom(for: key, at: now) else {
            pass(match, atLimit: settings.atLimit, into: &out)
            return held.note(held.slot(of: key), key, leftAt: now)
        }
        let limit = now.advanced(by: settings.maximumDelay)
        held.insert(
            HeldNotification(match, since: now, limit: limit), as: key, due: due, first: match.sequence)
    }

    /// Applies the limit per user, for a new notification of a key.
    ///
    /// - Returns: Whether the new notification may be held.
    private mutating func makeRoom(for key: HoldKey, at now: Instant) -> Bool {
        guard held.pendingCount(of: key) >= settings.pendingPerUser else { return true }
        guard settings.atLimit != .passNewest else { return false }
        let remaining = settings.atLimit == .flushAll ? 0 : settings.pendingPerUser - 1
        held.flushOldest(of: key, leaving: remaining, at: now, because: settings.atLimit)
        return true
    }

    private func pass(_ match: Match, atLimit: AtLimit? = nil, into out: inout Outbox) {
        out.append { match.writeNotification(atLimit: atLimit, into: &$0) }
    }
}
