import EventLog
import JSON
import PipelineKit

/// What the logs tell of a change and a user.
struct RecordedFlows {
    let flows: [RecordedFlow]
    /// Whether match has yet to answer the change.
    let isPending: Bool
    /// Whether nobody's subscription watched it.
    let isUnwatched: Bool
}

/// What the logs tell of one match on its way to the user's devices.
struct RecordedFlow {
    let match: LoggedEvent
    let user: String
    let subscriptionID: String
    /// Container, environment and database.
    let place: [String]
    /// Notification, payload, outcomes.
    var steps: [Explanation] = []
    var outcomes: [RecordedOutcome] = []
    /// All changes that its notification stands for.
    var causes: [UInt64] = []
    /// When the push came to deliver.
    var pushed: Instant?
    /// Why it came no further.
    var end: Explanation?

    /// The recorded matches of a change, each followed to its end.
    static func all(
        of change: ExplainedChange, user: String, subscriptionID: String?, in logs: RecordedLogs
    ) throws -> RecordedFlows {
        guard let stage = logs.stage(ofKind: "match"), let log = logs.log(ofKind: "match") else {
            return RecordedFlows(flows: [], isPending: true, isUnwatched: false)
        }
        var isUnwatched = true
        var matches: [LoggedEvent] = []
        let mark = #""change":\#(change.sequence),"#
        let hasCome = try LogScan.events(in: log, from: change.event.now, marks: [mark]) { event in
            guard event.json["type"]?.equals("match") ?? false, event.json["change"]?.int64 == Int64(change.sequence)
            else { return }
            isUnwatched = false
            guard event.json["user"]?.equals(user) ?? false,
                subscriptionID.map({ event.json["subscriptionID"]?.equals($0) ?? false }) ?? true
            else { return }
            matches.append(event.kept)
        } isEnough: {
            $0.reaches(change.sequence)
        }
        let flows = try matches.map { match in
            var flow = try RecordedFlow(match, user)
            try flow.follow(change: change.sequence, behind: stage, in: logs)
            return flow
        }
        return RecordedFlows(
            flows: flows, isPending: matches.isEmpty && !hasCome, isUnwatched: isUnwatched && hasCome)
    }

    private init(_ match: LoggedEvent, _ user: String) throws {
        self.match = match
        self.user = user
        (subscriptionID, place) = try match.withJSON { json in
            (
                json["subscriptionID"]?.string ?? "",
                ["container", "environment", "database"].map { json.member($0)?.string ?? "" }
            )
        }
    }
}

extension JSONValue {
    var sequenceNumber: UInt64? { int64.flatMap { UInt64(exactly: $0) } }
}

extension BatchHeader {
    /// Whether the log has answered an event of its upstream's.
    func reaches(_ sequence: UInt64) -> Bool { cursor.input.map { $0.position >= sequence } ?? false }
}

// MARK: - Following a match

extension RecordedFlow {
    private mutating func follow(change: UInt64, behind stage: PipelineStage, in logs: RecordedLogs) throws {
        let rest = logs.path.drop { $0.name != stage.name }.dropFirst()
        var match = self.match
        for stage in rest.prefix(while: { !["coalesce", "payload", "deliver"].contains($0.kind) }) {
            guard let passed = try pass(match, change, through: stage, in: logs) else { return }
            match = passed
        }
        guard let coalesce = rest.first(where: { $0.kind == "coalesce" }),
            let notification = try notification(of: match, change, coalesce, in: logs),
            let payload = rest.first(where: { $0.kind == "payload" }),
            let push = try push(of: notification, payload, in: logs),
            let deliver = rest.first(where: { $0.kind == "deliver" })
        else { return }
        pushed = push.now
        try findOutcomes(of: push, deliver, in: logs)
    }

    /// A stage of the pipeline's own may keep a match to itself.
    private mutating func pass(
        _ match: LoggedEvent, _ change: UInt64, through stage: PipelineStage, in logs: RecordedLogs
    ) throws -> LoggedEvent? {
        let subscriptionID = subscriptionID
        let user = user
        return try find(in: stage, answering: match, logs, mark: #""change":\#(change),"#) { json in
            json["type"]?.equals("match") ?? false && json["user"]?.equals(user) ?? false
                && json["subscriptionID"]?.equals(subscriptionID) ?? false
        }
    }

    private mutating func push(
        of notification: LoggedEvent, _ stage: PipelineStage, in logs: RecordedLogs
    ) throws -> LoggedEvent? {
        let names = try notification.withJSON { json in
            (id: json["notificationID"]?.string ?? "", subscription: json["subscriptionID"]?.string ?? "")
        }
        let user = user
        let push = try find(in: stage, answering: notification, logs, mark: "\"\(names.id)\"") { json in
            json["type"]?.equals("push") ?? false && json["user"]?.equals(user) ?? false
                && json["subscriptionID"]?.equals(names.subscription) ?? false
        }
        guard let push else { return nil }
        steps += try explain(notification, push, stage, in: logs)
        return push
    }

    private func explain(
        _ notification: LoggedEvent, _ push: LoggedEvent, _ stage: PipelineStage, in logs: RecordedLogs
    ) throws -> [Explanation] {
        let fresh = try FreshStage.make(stage, try logs.context(of: stage))
        let told = try fresh?.explain(notification, for: ExplainedSubject()) ?? []
        let (isPruned, hasBadge) = try push.withJSON { json in
            (json["payload"]?["ck"]?["p"] != nil, json["payload"]?["aps"]?["badge"] != nil)
        }
        guard !hasBadge, told.contains(where: { $0.code == .payloadPruned }) != isPruned else { return told }
        return told + [
            Explanation(
                stage.kind, .replayDiffers,
                "the recorded push is \(isPruned ? "" : "not ")pruned, by today's rules it would\(isPruned ? " not" : "") be"
            )
        ]
    }

    private mutating func findOutcomes(of push: LoggedEvent, _ stage: PipelineStage, in logs: RecordedLogs) throws {
        guard let log = logs.log(ofKind: stage.kind) else {
            end = pending(stage)
            return
        }
        var found: [RecordedOutcome] = []
        let hasCome = try LogScan.events(in: log, from: push.now, marks: [#""push":\#(push.sequence),"#]) { event in
            guard event.json["push"]?.int64 == Int64(push.sequence) else { return }
            found.append(RecordedOutcome(event.json))
        } isEnough: {
            $0.reaches(push.sequence)
        }
        outcomes = found
        steps += found.map(\.explanation)
        if found.isEmpty { end = hasCome ? try lost(push.sequence, stage, logs) : pending(stage) }
    }

    /// The event of a stage that answers another; notes the end where there is none.
    private mutating func find(
        in stage: PipelineStage, answering event: LoggedEvent, _ logs: RecordedLogs, mark: String,
        where isIt: (JSONValue) -> Bool
    ) throws -> LoggedEvent? {
        var found: LoggedEvent?
        guard let log = logs.existingLog(of: stage) else {
            end = pending(stage)
            return nil
        }
        let hasCome = try LogScan.events(in: log, from: event.now, marks: [mark]) { answer in
            if found == nil, isIt(answer.json) { found = answer.kept }
        } isEnough: {
            found != nil || $0.reaches(event.sequence)
        }
        if found == nil { end = hasCome ? try lost(event.sequence, stage, logs) : pending(stage) }
        return found
    }

    func pending(_ stage: PipelineStage) -> Explanation {
        Explanation(
            stage.kind, .outcomePending, "\(stage.name) has not come so far yet", [.init("stage", stage.name)])
    }

    func lost(_ sequence: UInt64, _ stage: PipelineStage, _ logs: RecordedLogs) throws -> Explanation {
        try DeadLetter.find(sequence, stage, logs)
            ?? Explanation(
                stage.kind, .stageDropped, "\(stage.name) did not pass it on", [.init("stage", stage.name)])
    }
}
