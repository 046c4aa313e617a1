import CloudKitModel
import EventLog
import Events
import JSON
import PipelineKit

extension NotificationTrail {
    /// The highest value that coalesce accepts for its setting `maximumDelay`.
    private static let waitMax = Duration.seconds(36_000)

    mutating func notifications(of open: [Position], _ stage: PipelineStage) throws -> [Position] {
        guard let newest = open.map(\.event).max(by: { $0.sequence < $1.sequence }) else { return [] }
        guard let log = logs.existingLog(of: stage) else {
            try close(open, in: stage, last: nil)
            return []
        }
        var search = try NotificationSearch(change, try open.map(trail), in: upstream(of: stage))
        let (user, limit) = (user, newest.now.advanced(by: NotificationTrail.waitMax))
        var last: BatchHeader?
        _ = try LogScan.events(
            in: log, from: open.map(\.event.now).min() ?? newest.now, containing: [.text(user)]
        ) { event in
            if event.json[.user]?.equals(user.string) ?? false { try search.read(event) }
        } isEnough: { header in
            last = header
            return search.isOver(hasReachedAll: header.reaches(newest.sequence), isTooLate: header.now > limit)
        }
        return try record(search.trails, of: open, stage, last: last, isTooLate: last.map { $0.now > limit } ?? false)
    }

    private func trail(_ position: Position) throws -> NotificationSearch.Trail {
        let mayWait = try position.event.withJSON { json in
            NotificationVisibility.isSilent(json[.notificationInfo])
                || json[.notificationInfo]?["collapseIDKey"]?.isString ?? false
        }
        return .init(
            match: position.event.sequence, change: change, subscription: flows[position.flow].subscriptionID,
            mayWait: mayWait)
    }

    private func upstream(of stage: PipelineStage) -> String? {
        logs.file.upstream(of: stage).flatMap(logs.existingLog)
    }

    /// Completes the flow of each match: with the notification that was found, or else with the reason why there is no
    /// notification.
    ///
    /// - Returns: The notifications that were found.
    private mutating func record(
        _ trails: [NotificationSearch.Trail], of open: [Position], _ stage: PipelineStage, last: BatchHeader?,
        isTooLate: Bool
    ) throws -> [Position] {
        var (found, missing) = ([Position](), [Position]())
        for (position, trail) in zip(open, trails) {
            flows[position.flow].steps += trail.replacement
            if let notification = trail.found {
                try record(notification, stage, position.flow)
                found.append(Position(flow: position.flow, event: notification))
            } else if trail.mayWait, !isTooLate, last?.reaches(position.event.sequence) ?? false {
                flows[position.flow].end = NotificationTrail.held(stage)
            } else {
                missing.append(position)
            }
        }
        try close(missing, in: stage, last: last)
        return found
    }

    private mutating func record(_ notification: LoggedEvent, _ stage: PipelineStage, _ flow: Int) throws {
        let (id, causes, atLimit) = try notification.withJSON { json in
            (json[.notificationID]?.string ?? "", json.causes, json[.atLimit]?.string)
        }
        let text =
            "notification \(id) was made" + (causes.count > 1 ? " for \(causes.count) changes" : "")
        flows[flow].causes = causes
        flows[flow].steps.append(
            Explanation(
                stage.kind, .notificationMade, text,
                [.init("notificationID", id), .init("sequence", notification.sequence)]))
        if let atLimit { flows[flow].steps.append(NotificationTrail.flushed(atLimit, stage)) }
    }

    private static func flushed(_ atLimit: String, _ stage: PipelineStage) -> Explanation {
        Explanation(
            stage.kind, .notificationFlushed,
            "too many notifications waited for the user, so this one left early (setting atLimit: \(atLimit))",
            [.init("atLimit", atLimit)])
    }

    private static func held(_ stage: PipelineStage) -> Explanation {
        Explanation(stage.kind, .notificationHeld, "the notification is held back in case a newer one replaces it")
    }
}

/// Finds the notifications of one user's matches. If a newer match replaced a match, the search follows the newer one.
private struct NotificationSearch {
    struct Trail {
        /// The original match or the newest match that replaced it, and the change of this match.
        fileprivate(set) var match: UInt64
        fileprivate(set) var change: UInt64
        /// The match's subscription; nil if the log no longer contains the match.
        fileprivate(set) var subscription: ExactText?
        /// Whether coalesce may hold the notification back.
        let mayWait: Bool
        fileprivate(set) var replacements = 0
        fileprivate(set) var found: LoggedEvent?

        fileprivate var key: MatchKey { MatchKey(change: change, subscription: subscription) }
    }

    /// Identifies a match of one user, and the notification that coalesce makes from it.
    struct MatchKey: Hashable {
        let change: UInt64
        let subscription: ExactText?
    }

    private let change: UInt64
    private(set) var trails: [Trail]
    private var byMatch: [UInt64: [Int]]
    private var byKey: [MatchKey: [Int]]
    private var matches: MatchedSubscriptions
    /// How many trails have no notification yet. `waiting` counts the trails whose notification coalesce may hold back;
    /// `atOnce` counts the other trails.
    private var (atOnce, waiting): (Int, Int)

    init(_ change: UInt64, _ trails: [Trail], in log: String?) throws {
        (self.change, self.trails, matches) = (change, trails, try MatchedSubscriptions(log: log))
        byMatch = Dictionary(grouping: trails.indices) { trails[$0].match }
        byKey = Dictionary(grouping: trails.indices) { trails[$0].key }
        waiting = trails.count { $0.mayWait }
        atOnce = trails.count - waiting
    }

    func isOver(hasReachedAll: Bool, isTooLate: Bool) -> Bool {
        waiting == 0 ? atOnce == 0 || hasReachedAll : isTooLate
    }

    mutating func read(_ event: LogScan.Event) throws {
        let json = event.json
        if json[.type]?.equals(EventName.coalesced) ?? false {
            try replace(json)
        } else if json[.type]?.equals(EventName.notification) ?? false, let newest = json[.change]?.sequence,
            json.causes.contains(change)
        {
            let key = MatchKey(change: newest, subscription: json[.subscriptionID]?.exact)
            let found =
                byKey.removeValue(forKey: key)
                ?? byKey.removeValue(forKey: MatchKey(change: newest, subscription: nil)) ?? []
            for trail in found {
                byMatch[trails[trail].match] = nil
                trails[trail].found = event.copied
                if trails[trail].mayWait { waiting -= 1 } else { atOnce -= 1 }
            }
        }
    }

    private mutating func replace(_ json: JSONValue) throws {
        guard let match = json[.match]?.sequence, let newer = json[.replacedBy]?.sequence,
            let change = json[.replacedByChange]?.sequence, let replaced = byMatch.removeValue(forKey: match)
        else { return }
        let subscription = try matches.subscription(of: newer)
        for trail in replaced {
            byKey[trails[trail].key] = nil
            (trails[trail].match, trails[trail].change) = (newer, change)
            trails[trail].subscription = subscription
            trails[trail].replacements += 1
            byMatch[newer, default: []].append(trail)
            byKey[trails[trail].key, default: []].append(trail)
        }
    }
}

/// Looks up the subscriptions of matches. One read covers several matches, since the matches of one change are
/// neighbours.
private struct MatchedSubscriptions {
    private let log: String?
    private let first: UInt64
    private var known: [UInt64: ExactText] = [:]

    private static let readAhead: UInt64 = 256

    init(log: String?) throws {
        self.log = log
        first = try log.map { try EventLogs.summary(directory: $0).firstSequence } ?? 0
    }

    /// Nil if the log no longer contains the match.
    mutating func subscription(of match: UInt64) throws -> ExactText? {
        if let subscription = known[match] { return subscription }
        guard let log, match >= first else { return nil }
        try LogScan().events(in: log, from: match, through: match + MatchedSubscriptions.readAhead, naming: []) {
            event in
            known[event.sequence] = event.json[.subscriptionID]?.exact
            return true
        }
        return known[match]
    }
}

extension NotificationSearch.Trail {
    /// Explains that newer notifications replaced the original one; empty if there are no newer ones.
    var replacement: [Explanation] {
        guard replacements > 0 else { return [] }
        let text =
            replacements == 1
            ? "a newer notification, for change \(change), replaced it"
            : "\(replacements) newer notifications replaced it in turn, the last one for change \(change)"
        return [
            Explanation(
                .notifications, .coalescedInto, text,
                [
                    .init("replacedBy", match), .init("replacedByChange", change), .init("times", UInt64(replacements)),
                ])
        ]
    }
}
