import EventLog
import Events
import JSON
import PipelineKit
import Time

/// What the logs tell of one match on its way to the user's devices.
struct RecordedFlow {
    let match: LoggedEvent
    let user: ExactText
    let subscriptionID: ExactText
    /// Container, environment and database.
    let place: [ExactText]
    /// Notification, payload, outcomes.
    var steps: [Explanation] = []
    var outcomes: [RecordedOutcome] = []
    /// All changes that its notification stands for.
    var causes: [UInt64] = []
    /// When the push came to deliver.
    var pushed: Instant?
    /// Why it came no further.
    var end: Explanation?

    init(_ match: LoggedEvent, _ user: ExactText) throws {
        self.match = match
        self.user = user
        (subscriptionID, place) = try match.withJSON { json in
            (
                json[.subscriptionID]?.exact ?? "",
                ["container", "environment", "database"].map { json.member($0)?.exact ?? "" }
            )
        }
    }
}

/// What the logs tell of a change and a user.
struct RecordedFlows {
    let flows: [RecordedFlow]
    /// Whether match has yet to answer the change.
    let isPending: Bool
    /// Whether nobody's subscription watched it.
    let isUnwatched: Bool

    /// The recorded matches of a change, each followed to its end.
    ///
    /// - Parameter subscriptionID: Only this one's.
    init(
        of change: ExplainedChange, user: ExactText, subscriptionID: ExactText?, in logs: RecordedLogs
    ) throws {
        guard let stage = logs.stage(writing: .matches), let log = logs.existingLog(.matches) else {
            (flows, isPending, isUnwatched) = ([], true, false)
            return
        }
        var isWatched = false
        var matches: [LoggedEvent] = []
        let hasCome = try LogScan.events(
            in: log, from: change.event.now, holding: [.number(change.sequence)]
        ) { event in
            guard event.json[.type]?.equals(EventName.match) ?? false,
                event.json[.change]?.int64 == Int64(change.sequence)
            else { return }
            isWatched = true
            guard event.json[.user]?.equals(user.string) ?? false,
                subscriptionID.map({ event.json[.subscriptionID]?.equals($0.string) ?? false }) ?? true
            else { return }
            matches.append(event.kept)
        } isEnough: {
            $0.reaches(change.sequence)
        }
        var pursuit = NotificationTrail(try matches.map { try RecordedFlow($0, user) }, change.sequence, user, logs)
        try pursuit.run(behind: stage)
        flows = pursuit.flows
        (isPending, isUnwatched) = (matches.isEmpty && !hasCome, !isWatched && hasCome)
    }
}

extension BatchHeader {
    /// Whether the log has answered an event of its upstream's.
    func reaches(_ sequence: UInt64) -> Bool {
        guard let position = cursor.input?.position, position >= sequence else { return false }
        return cursor.firstOut.map { $0 > sequence } ?? true
    }
}
