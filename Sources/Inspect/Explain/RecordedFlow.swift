import EventLog
import Events
import JSON
import PipelineKit
import Time

/// One match and its effects in the later logs.
struct RecordedFlow {
    let match: LoggedEvent
    let user: ExactText
    let subscriptionID: ExactText
    /// The container, the environment and the database.
    let databasePath: [ExactText]
    /// What happened to the match: notification, payload, outcomes.
    var steps: [Explanation] = []
    var outcomes: [RecordedOutcome] = []
    /// The sequences of the changes that led to the match's notification.
    var causes: [UInt64] = []
    /// The time of the push in the log that deliver reads; nil if that log has no push of the match.
    var pushedAt: Instant?
    /// Why the match led to no outcome or attempt; nil if it led to one.
    var end: Explanation?

    init(_ match: LoggedEvent, _ user: ExactText) throws {
        self.match = match
        self.user = user
        (subscriptionID, databasePath) = try match.withJSON { json in
            (
                json[.subscriptionID]?.exact ?? "",
                ["container", "environment", "database"].map { json.member($0)?.exact ?? "" }
            )
        }
    }
}

/// The recorded matches of a change for one user, each followed to its end.
struct RecordedFlows {
    let flows: [RecordedFlow]
    /// Whether there are no flows because match has not processed the change yet.
    let isPending: Bool
    /// Whether no subscription of any user watched the change.
    let isUnwatched: Bool

    /// - Parameter subscriptionID: The only subscription whose flows are included; nil for all subscriptions.
    init(
        of change: ExplainedChange, user: ExactText, subscriptionID: ExactText?, in logs: RecordedLogs
    ) throws {
        guard let stage = logs.stage(writing: .matches), let log = logs.existingLog(.matches) else {
            (flows, isPending, isUnwatched) = ([], true, false)
            return
        }
        let last = try logs.lastInput(of: stage, from: change)
        var isWatched = false
        var matches: [LoggedEvent] = []
        let isProcessed = try LogScan.events(
            in: log, from: change.event.now, containing: [.sequence(change.sequence)]
        ) { event in
            guard event.json[.type]?.equals(EventName.match) ?? false,
                event.json[.change]?.int64 == Int64(change.sequence)
            else { return }
            isWatched = true
            guard event.json[.user]?.equals(user.string) ?? false,
                subscriptionID.map({ event.json[.subscriptionID]?.equals($0.string) ?? false }) ?? true
            else { return }
            matches.append(event.copied)
        } isEnough: { header in
            last.map(header.reaches) ?? false
        }
        var trail = NotificationTrail(try matches.map { try RecordedFlow($0, user) }, change.sequence, user, logs)
        try trail.run(after: stage)
        flows = trail.flows
        (isPending, isUnwatched) = (matches.isEmpty && !isProcessed, !isWatched && isProcessed)
    }
}

extension BatchHeader {
    /// Whether the stage has processed the event with this sequence in its upstream log by the end of this batch.
    ///
    /// Deliver sends a push to each device of its user. So it has processed a push when it has a first answer for each
    /// of these devices, and for all devices of earlier pushes.
    func reaches(_ sequence: UInt64) -> Bool {
        guard let position = cursor.input?.position, position >= sequence else { return false }
        return cursor.firstUnanswered.map { $0 > sequence } ?? true
    }
}
