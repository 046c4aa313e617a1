import EventLog
import Events
import JSON
import PipelineKit
import Time

/// Collects the events of the changes log that may have led to an outcome, or to the lack of a push.
struct CaseCandidates {
    let logs: RecordedLogs
    let finder: any EventFinder
    private(set) var events: [UInt64: LoggedEvent] = [:]
    /// Whether the changes that raised the badge are left out, because there are more than ``badgeChangesMax``.
    private(set) var hasTooManyBadgeChanges = false

    static let badgeChangesMax = 500
    /// ``addAll(before:until:)`` adds at most this many events before the change.
    static let earlierEventsMax: UInt64 = 5_000

    private var changes: String { logs.log(of: logs.stages[0]) }

    var lines: [CaseLine] { events.values.sorted { $0.sequence < $1.sequence }.map { CaseLine(event: $0) } }

    mutating func add(_ event: LoggedEvent) { events[event.sequence] = event }

    /// Adds a change and, if the record's previous event is a save, this save.
    mutating func add(change sequence: UInt64) throws {
        guard events[sequence] == nil, let event = try LogScan.event(sequence, in: changes) else { return }
        add(event)
        try addPredecessor(of: event)
    }

    /// Adds the events of a user's devices, subscriptions and badges up to a time. Also adds the registrations of other
    /// devices with the same tokens.
    mutating func add(stateOf user: ExactText, until moment: Instant) throws {
        var (found, tokens) = ([LoggedEvent](), Set<ExactText>())
        try finder.events(in: changes, from: 1, through: .max, naming: [.user(user)]) { event in
            guard event.now <= moment else { return false }
            guard event.json[.user]?.equals(user.string) ?? false, event.json[.record] == nil, !Self.isRedrive(event)
            else { return true }
            if let token = event.json[.token]?.exact { tokens.insert(token) }
            found.append(event.copied)
            return true
        }
        for token in tokens {
            try finder.events(in: changes, from: 1, through: .max, naming: [.token(token)]) { event in
                guard event.now <= moment else { return false }
                if event.json[.token]?.equals(token.string) ?? false { found.append(event.copied) }
                return true
            }
        }
        for event in found { add(event) }
    }

    /// Adds the changes that raised a user's badge before a push. If there are more than ``badgeChangesMax``, adds none
    /// of them and sets ``hasTooManyBadgeChanges``.
    mutating func add(badgesOf user: ExactText, before push: UInt64) throws {
        guard let log = logs.existingLog(.pushes), push > 1 else { return }
        var causes: [UInt64] = []
        try finder.events(in: log, from: 1, through: push - 1, naming: [.receiver(user)]) { event in
            guard event.json[.user]?.equals(user.string) ?? false, event.json[.payload]?["aps"]?[.badge] != nil
            else { return true }
            causes += event.json.causes
            return causes.count <= CaseCandidates.badgeChangesMax
        }
        hasTooManyBadgeChanges = causes.count > CaseCandidates.badgeChangesMax
        guard !hasTooManyBadgeChanges else { return }
        for cause in causes { try add(change: cause) }
    }

    /// Adds the changes that used up the user's fires-once subscriptions.
    mutating func add(firesOnceUsesOf user: ExactText, before change: UInt64) throws {
        let histories = try SubscriptionHistory.all(
            in: changes, through: change, user: user, subscriptionID: nil, finder)
        for use in try FiresOnceUses(of: histories, before: change).find(in: logs, finder).values {
            try add(change: use)
        }
    }

    /// Adds the events shortly before a change, the change, and the later events up to a time: at most twice
    /// ``earlierEventsMax`` events, without redrives.
    mutating func addAll(before change: UInt64, until moment: Instant) throws {
        let first = change > CaseCandidates.earlierEventsMax ? change - CaseCandidates.earlierEventsMax : 1
        var found: [LoggedEvent] = []
        try finder.events(in: changes, from: first, through: .max, naming: []) { event in
            guard event.sequence <= change || event.now <= moment,
                found.count < Int(2 * CaseCandidates.earlierEventsMax)
            else { return false }
            if !Self.isRedrive(event) { found.append(event.copied) }
            return true
        }
        for event in found { add(event) }
    }

    /// Redrives are left out: they contain personal strings, and no later push depends on them.
    private static func isRedrive(_ event: LogScan.Event) -> Bool {
        event.json[.type]?.equals(EventName.pushRedrive) ?? false
    }

    /// Adds the previous event of the same record if it is a save: an update or a delete needs it.
    private mutating func addPredecessor(of event: LoggedEvent) throws {
        let (name, record) = try event.withJSON { ($0[.record]?[.recordName]?.exact, CommandSubject($0)) }
        guard let name, let record, event.sequence > 1 else { return }
        var last: LoggedEvent?
        try finder.events(in: changes, from: 1, through: event.sequence - 1, naming: [.record(name)]) { other in
            if CommandSubject(other.json) == record { last = other.copied }
            return true
        }
        if let last, try last.withJSON({ $0[.type]?.equals(EventName.recordSave) ?? false }) { add(last) }
    }
}
