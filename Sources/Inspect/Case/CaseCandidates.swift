import EventLog
import Events
import JSON
import PipelineKit
import Time

/// The inputs that may have had a part in an outcome.
struct CaseCandidates {
    let logs: RecordedLogs
    let finder: any EventFinder
    private(set) var events: [UInt64: LoggedEvent] = [:]
    /// Whether so many changes raised the badge that not all are taken.
    private(set) var hasTooManyBadges = false

    /// More changes than these are not taken for the badge's sake alone.
    static let badgesMax = 500
    /// How many events of all kinds a larger slice takes from before the change.
    static let largerSliceMax: UInt64 = 5_000

    private var changes: String { logs.log(of: logs.path[0]) }

    init(logs: RecordedLogs, finder: any EventFinder) {
        self.logs = logs
        self.finder = finder
    }

    var lines: [CaseLine] { events.values.sorted { $0.sequence < $1.sequence }.map { CaseLine(event: $0) } }

    mutating func add(_ event: LoggedEvent) { events[event.sequence] = event }

    /// A change, and the one that made its record known.
    mutating func add(change sequence: UInt64) throws {
        guard events[sequence] == nil, let event = try LogScan.event(sequence, in: changes) else { return }
        add(event)
        try addPredecessor(of: event)
    }

    /// A user's devices and subscriptions up to a moment, and who took the devices' tokens.
    mutating func add(stateOf user: ExactText, until moment: Instant) throws {
        var (found, tokens) = ([LoggedEvent](), Set<ExactText>())
        try finder.events(in: changes, from: 1, through: .max, naming: [.user(user)]) { event in
            guard event.now <= moment else { return false }
            guard event.json[.user]?.equals(user.string) ?? false, event.json[.record] == nil, !Self.isRedrive(event)
            else { return true }
            if let token = event.json[.token]?.exact { tokens.insert(token) }
            found.append(event.kept)
            return true
        }
        for token in tokens {
            try finder.events(in: changes, from: 1, through: .max, naming: [.token(token)]) { event in
                guard event.now <= moment else { return false }
                if event.json[.token]?.equals(token.string) ?? false { found.append(event.kept) }
                return true
            }
        }
        for event in found { add(event) }
    }

    /// The changes that had raised a user's badge before a push.
    mutating func add(badgesOf user: ExactText, before push: UInt64) throws {
        guard let log = logs.existingLog(.pushes), push > 1 else { return }
        var causes: [UInt64] = []
        try finder.events(in: log, from: 1, through: push - 1, naming: [.receiver(user)]) { event in
            guard event.json[.user]?.equals(user.string) ?? false, event.json[.payload]?["aps"]?[.badge] != nil
            else {
                return true
            }
            causes += event.json.causes
            return causes.count <= CaseCandidates.badgesMax
        }
        hasTooManyBadges = causes.count > CaseCandidates.badgesMax
        guard !hasTooManyBadges else { return }
        for cause in causes { try add(change: cause) }
    }

    /// The first change that each of a user's subscriptions matched after it was saved: the one that used up those that
    /// fire once.
    mutating func add(spendersOf user: ExactText, before change: UInt64) throws {
        let histories = try SubscriptionHistory.all(
            in: changes, through: change, user: user, subscriptionID: nil, finder)
        for spender in try FiresOnceUses(of: histories, before: change).find(in: logs, finder).values {
            try add(change: spender)
        }
    }

    /// Everything that happened shortly before.
    mutating func addAll(before change: UInt64, until moment: Instant) throws {
        let first = change > CaseCandidates.largerSliceMax ? change - CaseCandidates.largerSliceMax : 1
        var found: [LoggedEvent] = []
        try finder.events(in: changes, from: first, through: .max, naming: []) { event in
            guard event.sequence <= change || event.now <= moment,
                found.count < Int(2 * CaseCandidates.largerSliceMax)
            else { return false }
            if !Self.isRedrive(event) { found.append(event.kept) }
            return true
        }
        for event in found { add(event) }
    }

    /// What it sends again holds texts of people, and no later push depends on it.
    private static func isRedrive(_ event: LogScan.Event) -> Bool {
        event.json[.type]?.equals(EventName.pushRedrive) ?? false
    }

    /// A delete tells the fields that were saved last, and a save of a known record is an update.
    private mutating func addPredecessor(of event: LoggedEvent) throws {
        let (name, record) = try event.withJSON { ($0[.record]?[.recordName]?.exact, CommandSubject($0)) }
        guard let name, let record, event.sequence > 1 else { return }
        var last: LoggedEvent?
        try finder.events(in: changes, from: 1, through: event.sequence - 1, naming: [.record(name)]) { other in
            if CommandSubject(other.json) == record { last = other.kept }
            return true
        }
        if let last, try last.withJSON({ $0[.type]?.equals(EventName.recordSave) ?? false }) { add(last) }
    }
}
