import Events
import JSON

/// Finds the causes and effects of a pipeline's events by the references in them.
///
/// A match names its change. A notification, a push and an outcome name all their changes. A `coalesced` event names
/// the replaced match and the newer one. An outcome names its push. Several notifications of a change may have one ID,
/// but they differ in user or subscription.
package final class Causality {
    let logs: TraceLogs
    /// The events about one change in one log, up to ``eventsMax``.
    private var known: [LoggedChange: [TraceEvent]] = [:]

    private struct LoggedChange: Hashable {
        let log: String
        let change: UInt64
    }

    /// If a log has fewer events about a change than this, they are all read at once. Otherwise only those about one
    /// user and one subscription are read at a time; in the outcomes log, those about one user.
    private static let eventsMax = 2_000
    /// The most changes that one event is traced back to; older ones are left out.
    static let originsMax = 50
    /// The most matches of one change that are followed.
    static let matchesMax = 1_000

    package init(_ logs: TraceLogs) { self.logs = logs }

    /// The direct effects of an event: first its dead letters, then its effects in the logs of the next stages, then
    /// the other effects, which are mostly in the event's own log.
    ///
    /// - Parameter user: The only user whose matches of a change are included; nil for the matches of all users.
    /// - Returns: The effects, and whether matches beyond ``matchesMax`` are left out.
    func effects(of event: TraceEvent, user: ExactText? = nil) throws -> (events: [TraceEvent], isCut: Bool) {
        var effects = try deadLetters(of: event)
        var isCut = false
        for log in logs.downstream(of: event.log) {
            var found = try self.effects(of: event, in: log, user: user)
            if event.facts.isChange, found.count > Causality.matchesMax {
                found.removeLast(found.count - Causality.matchesMax)
                isCut = true
            }
            effects += found
        }
        if event.type == "push" || event.facts.isRedrive { effects += try redrives(of: event) }
        if event.type == "coalesced" { effects += try successors(of: event) }
        effects += try deliveryEffects(of: event)
        // A `not_matched` event counts changes in a range. A change with another effect, such as a dead letter, may lie
        // in this range, but it is not counted.
        let others = effects.filter { $0.type != "not_matched" }
        return (others.isEmpty ? effects : others, isCut)
    }

    /// The first causes of an event, mostly changes; the event itself if it has no cause.
    ///
    /// - Returns: The causes that belong to the newest changes, at most ``originsMax`` changes, and how many changes
    ///   were left out. `events` is empty if the event names changes, but the logs contain none of these changes and
    ///   no match of any of them.
    package func origins(of event: TraceEvent) throws -> (events: [TraceEvent], leftOut: Int) {
        if let rejected = event.facts.rejected {
            guard let source = try logs.event(at: rejected) else { return ([event], 0) }
            return try origins(of: source)
        }
        if event.facts.isRetirement, let outcome = try outcome(behind: event) { return try origins(of: outcome) }
        let changes = event.facts.causes.isEmpty ? event.facts.namedChange : event.facts.causes
        guard !changes.isEmpty else { return ([try original(of: event)], 0) }
        let newest = changes.suffix(Causality.originsMax)
        return (try newest.flatMap { try start(of: $0, for: event) }, changes.count - newest.count)
    }
}

extension Causality {
    private func effects(of event: TraceEvent, in log: TracedLog, user: ExactText?) throws -> [TraceEvent] {
        if event.facts.isChange, log.role == .making(.matches) { return try matches(of: event, in: log, user: user) }
        switch event.type {
        case EventName.match, EventName.notification, EventName.push: return try next(of: event, in: log)
        case EventName.pushRedrive where log.role == .making(.outcomes): return try outcomes(ofRedrive: event, in: log)
        case EventName.coalesced, EventName.notMatched, EventName.outcome, EventName.attempt, EventName.appStopped,
            EventName.appResumed:
            return []
        case _ where event.facts.isRetirement: return []
        default: return try copy(of: event, in: log).map { [$0] } ?? []
        }
    }

    private func matches(of change: TraceEvent, in log: TracedLog, user: ExactText?) throws -> [TraceEvent] {
        let matches = try matches(of: change.sequence, in: log, user: user)
        return matches.isEmpty && user == nil ? try unmatched(change.sequence, in: log) : matches
    }

    /// - Returns: At most one match more than ``matchesMax``.
    private func matches(of change: UInt64, in log: TracedLog, user: ExactText?) throws -> [TraceEvent] {
        let limit = Causality.matchesMax + 1
        func isWanted(_ facts: EventFacts) -> Bool {
            facts.type == EventName.match.description && facts.change == change && (user == nil || user == facts.user)
        }
        guard let user else {
            return try logs.events(TraceKey(.change, change), in: log, limit: limit, where: isWanted)
        }
        return try logs.events(
            TraceKey(.change, change), TraceKey(.user, user), in: log, limit: limit, where: isWanted)
    }

    private func unmatched(_ change: UInt64, in log: TracedLog) throws -> [TraceEvent] {
        try logs.events(TraceKey(.unmatched, TraceKey.thousand(of: change)), in: log, limit: 1) { facts in
            guard let first = facts.first, let last = facts.last else { return false }
            return facts.type == "not_matched" && first <= change && change <= last
        }
    }

    /// The effects of a match, a notification or a push in the next stage's log.
    private func next(of event: TraceEvent, in log: TracedLog) throws -> [TraceEvent] {
        guard let change = event.facts.anchor else { return [] }
        return try events(about: change, event.facts, in: log).filter { next in
            switch next.type {
            case EventName.coalesced: next.facts.match == event.sequence
            case EventName.outcome, EventName.attempt: next.facts.push == event.sequence
            default: next.facts.isSameNotification(as: event.facts)
            }
        }
    }

    /// A log's events about one change. If there are ``eventsMax`` or more, returns only some of these events: in the
    /// outcomes log those for the user in `facts`, in other logs those for the user and the subscription in `facts`. If
    /// `facts` lacks the user or the subscription, returns none of them.
    private func events(about change: UInt64, _ facts: EventFacts, in log: TracedLog) throws -> [TraceEvent] {
        let (place, key) = (LoggedChange(log: log.name, change: change), TraceKey(.change, change))
        if known[place] == nil { known[place] = try logs.events(key, in: log, limit: Causality.eventsMax) }
        if let events = known[place], events.count < Causality.eventsMax { return events }
        guard let user = facts.user, let subscription = facts.subscriptionID else { return [] }
        // An outcome names no subscription.
        return try log.role == .making(.outcomes)
            ? logs.events(key, TraceKey(.user, user), in: log)
            : logs.events(key, TraceKey(.userSubscription, user, subscription), in: log)
    }

    private func outcomes(ofRedrive event: TraceEvent, in log: TracedLog) throws -> [TraceEvent] {
        try logs.events(TraceKey(.push, event.sequence), in: log) { $0.push == event.sequence }
    }

    /// The redrives of a push in its own log or, if they have not reached this log yet, in the changes log.
    private func redrives(of push: TraceEvent) throws -> [TraceEvent] {
        for log in [logs.log(named: push.log), logs.changes].compactMap({ $0 }) {
            let found = try logs.events(TraceKey(.redrive, push.sequence), in: log) {
                $0.isRedrive && $0.redriveOf == push.place
            }
            if !found.isEmpty { return found }
        }
        return []
    }

    private func deadLetters(of event: TraceEvent) throws -> [TraceEvent] {
        try logs.logs(as: .deadLetters).filter { $0.upstream == event.log }.flatMap { log in
            try logs.events(TraceKey(.deadLetter, event.sequence), in: log) { $0.rejected == event.place }
        }
    }
}

// MARK: - Replaced matches

extension Causality {
    /// The notification that replaced a coalesced match in the end; empty while the notification is held back. If the
    /// logs do not show which notification it was, all notifications that may have replaced the match.
    private func successors(of coalesced: TraceEvent) throws -> [TraceEvent] {
        guard let log = logs.log(named: coalesced.log), let change = coalesced.facts.change,
            let user = coalesced.facts.user
        else { return [] }
        let replacing = coalesced.facts.replacedByChange ?? 0
        let notifications = try logs.events(TraceKey(.change, change), TraceKey(.user, user), in: log) { facts in
            facts.type == "notification" && facts.user == user && facts.change ?? 0 >= replacing
        }
        guard notifications.count > 1, let last = try lastReplacement(of: coalesced, in: log) else {
            return notifications
        }
        return notifications.filter { $0.facts.isSameNotification(as: last.facts) }
    }

    private func lastReplacement(of coalesced: TraceEvent, in log: TracedLog) throws -> TraceEvent? {
        var current = coalesced
        while let match = current.facts.replacedBy {
            let next = try logs.events(TraceKey(.match, match), in: log, limit: 1) {
                $0.type == "coalesced" && $0.match == match
            }
            guard let next = next.first else {
                return try log.upstream.flatMap { try logs.event(at: EventPlace(log: $0, sequence: match)) }
            }
            guard next.sequence > current.sequence else { return nil }
            current = next
        }
        return nil
    }
}

extension Causality {
    /// A change or, if the log no longer contains it, its matches for the event's user. Empty without a changes log.
    private func start(of change: UInt64, for event: TraceEvent) throws -> [TraceEvent] {
        guard let changes = logs.changes else { return [] }
        if let found = try logs.event(at: change, in: changes) { return [try original(of: found)] }
        return try logs.downstream(of: changes.name).flatMap { log in
            try matches(of: change, in: log, user: event.facts.user)
        }
    }
}

extension EventFacts {
    /// The change by which an event's effects are looked up.
    fileprivate var anchor: UInt64? { change ?? causes.last }

    /// The change that a `match` or `coalesced` event names; empty for other events.
    fileprivate var namedChange: [UInt64] {
        [EventName.match, EventName.coalesced].contains { $0.description == type } ? change.map { [$0] } ?? [] : []
    }
}
