import Events
import JSON

/// What follows from an event of a pipeline, and what it goes back to, read from what the events say of each other.
///
/// A match names its change; a notification, a push and an outcome name all changes that they stand for; a
/// `coalesced` event names the match that it tells of and the one that took its place; an outcome names its push. One
/// change may make several notifications of one ID: user and subscription keep them apart.
package final class Causality {
    let logs: TraceLogs
    /// What a log says of one change, as far as that is not too much.
    private var told: [Question: [TraceEvent]] = [:]

    private struct Question: Hashable {
        let log: String
        let change: UInt64
    }

    /// Where a change has more matches, each of them is looked for by user and subscription.
    private static let toldMax = 2_000
    /// The most changes that are gone back to from one event, the newest of them.
    static let originsMax = 50
    /// The most matches of one change that are followed.
    static let matchesMax = 1_000

    package init(_ logs: TraceLogs) { self.logs = logs }

    /// What an event led to in the logs downstream, in the order of the logs.
    ///
    /// - Parameter user: Only what concerns this user, where a change concerns many.
    func effects(of event: TraceEvent, user: ExactText? = nil) throws -> [TraceEvent] {
        var effects = try deadLetters(of: event)
        for log in logs.downstream(of: event.log) { effects += try self.effects(of: event, in: log, user: user) }
        if event.type == "push" || event.facts.isRedrive { effects += try redrives(of: event) }
        if event.type == "coalesced" { effects += try successors(of: event) }
        effects += try aftermath(of: event)
        // Counted are those that nobody watched, not those that were refused.
        return effects.contains { $0.type != "not_matched" } ? effects.filter { $0.type != "not_matched" } : effects
    }

    /// The oldest events that an event goes back to: the changes, where it has such. Itself where it has none.
    ///
    /// - Returns: At most ``originsMax``, and how many were left out.
    package func origins(of event: TraceEvent) throws -> (events: [TraceEvent], left: Int) {
        if let refused = event.facts.refused {
            guard let source = try logs.event(at: refused) else { return ([event], 0) }
            return try origins(of: source)
        }
        if event.facts.isRetirement, let outcome = try outcome(behind: event) { return try origins(of: outcome) }
        let changes = event.facts.causes.isEmpty ? event.facts.changeNamed : event.facts.causes
        guard !changes.isEmpty else { return ([try first(of: event)], 0) }
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
        default: return try passed(event, in: log).map { [$0] } ?? []
        }
    }

    private func matches(of change: TraceEvent, in log: TracedLog, user: ExactText?) throws -> [TraceEvent] {
        let matches = try matches(of: change.sequence, in: log, user: user)
        return matches.isEmpty && user == nil ? try unmatched(change.sequence, in: log) : matches
    }

    private func matches(of change: UInt64, in log: TracedLog, user: ExactText?) throws -> [TraceEvent] {
        func isWanted(_ facts: EventFacts) -> Bool {
            facts.type == EventName.match.description && facts.change == change && (user == nil || user == facts.user)
        }
        guard let user else {
            return try logs.events(.change(change), in: log, limit: Causality.matchesMax, where: isWanted)
        }
        return try logs.events(
            .change(change), .user(user), in: log, limit: Causality.matchesMax, where: isWanted)
    }

    private func unmatched(_ change: UInt64, in log: TracedLog) throws -> [TraceEvent] {
        try logs.events(.unmatched(TraceKey.thousand(of: change)), in: log, limit: 1) { facts in
            guard let first = facts.first, let last = facts.last else { return false }
            return facts.type == "not_matched" && first <= change && change <= last
        }
    }

    /// What became of a match, a notification or a push in the next stage.
    private func next(of event: TraceEvent, in log: TracedLog) throws -> [TraceEvent] {
        guard let change = event.facts.anchor else { return [] }
        return try about(change, event.facts, in: log).filter { next in
            switch next.type {
            case EventName.coalesced: next.facts.match == event.sequence
            case EventName.outcome, EventName.attempt: next.facts.push == event.sequence
            default: next.facts.isSameNotification(as: event.facts)
            }
        }
    }

    /// All that a log says of one change, or, where that is much, of one notification of it.
    private func about(_ change: UInt64, _ facts: EventFacts, in log: TracedLog) throws -> [TraceEvent] {
        let question = Question(log: log.name, change: change)
        if told[question] == nil {
            told[question] = try logs.events(.change(change), in: log, limit: Causality.toldMax)
        }
        if let events = told[question], events.count < Causality.toldMax { return events }
        guard let user = facts.user, let subscription = facts.subscriptionID else { return [] }
        // An outcome names no subscription.
        return try log.role == .making(.outcomes)
            ? logs.events(.change(change), .user(user), in: log)
            : logs.events(.change(change), .userSubscription(user: user, subscription), in: log)
    }

    private func outcomes(ofRedrive event: TraceEvent, in log: TracedLog) throws -> [TraceEvent] {
        try logs.events(.push(event.sequence), in: log) { $0.push == event.sequence }
    }

    /// Where a push was sent again: in its own log, or, where that has not come so far, among the changes.
    private func redrives(of push: TraceEvent) throws -> [TraceEvent] {
        for log in [logs.log(named: push.log), logs.changes].compactMap({ $0 }) {
            let found = try logs.events(.redrive(push.sequence), in: log) {
                $0.isRedrive && $0.redriveOf == push.place
            }
            if !found.isEmpty { return found }
        }
        return []
    }

    private func deadLetters(of event: TraceEvent) throws -> [TraceEvent] {
        try logs.logs(as: .deadLetters).filter { $0.upstream == event.log }.flatMap { log in
            try logs.events(.deadLetter(event.sequence), in: log) { $0.refused == event.place }
        }
    }
}

// MARK: - Replaced by a newer one

extension Causality {
    /// The notification that at last stood for a match that was replaced; none while it is held.
    private func successors(of coalesced: TraceEvent) throws -> [TraceEvent] {
        guard let log = logs.log(named: coalesced.log), let change = coalesced.facts.change,
            let user = coalesced.facts.user
        else { return [] }
        let replacing = coalesced.facts.replacedByChange ?? 0
        let notifications = try logs.events(.change(change), .user(user), in: log) { facts in
            facts.type == "notification" && facts.user == user && facts.change ?? 0 >= replacing
        }
        guard notifications.count > 1, let last = try lastReplacement(of: coalesced, in: log) else {
            return notifications
        }
        return notifications.filter { $0.facts.isSameNotification(as: last.facts) }
    }

    /// The match that was not replaced any more.
    private func lastReplacement(of coalesced: TraceEvent, in log: TracedLog) throws -> TraceEvent? {
        var current = coalesced
        while let match = current.facts.replacedBy {
            let next = try logs.events(.match(match), in: log, limit: 1) {
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
    /// The change at a position, or, where it is gone, the matches that it had.
    private func start(of change: UInt64, for event: TraceEvent) throws -> [TraceEvent] {
        guard let changes = logs.changes else { return [] }
        if let found = try logs.event(at: change, in: changes) { return [try first(of: found)] }
        return try logs.downstream(of: changes.name).flatMap { log in
            try matches(of: change, in: log, user: event.facts.user)
        }
    }
}

extension EventFacts {
    /// The change that an event's place in the story is looked for by.
    fileprivate var anchor: UInt64? { change ?? causes.last }

    fileprivate var changeNamed: [UInt64] {
        [EventName.match, EventName.coalesced].contains { $0.description == type } ? change.map { [$0] } ?? [] : []
    }
}
