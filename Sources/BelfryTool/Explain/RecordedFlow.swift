import CloudKitModel
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
    private(set) var steps: [Explanation] = []
    private(set) var outcomes: [RecordedOutcome] = []
    /// All changes that its notification stands for.
    private(set) var causes: [UInt64] = []
    /// When the push came to deliver.
    private(set) var pushed: Instant?
    /// Why it came no further.
    private(set) var end: Explanation?

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
    func reaches(_ sequence: UInt64) -> Bool { cursor.positions.values.contains { $0 >= sequence } }
}

/// What became of a push at one device, or that there was none.
struct RecordedOutcome {
    let device: String?
    let explanation: Explanation

    var isAccepted: Bool { explanation.code == .transportAccepted }

    init(_ json: JSONValue) {
        let device = json["device"]?.string
        let transport = json["transport"]?.string ?? ""
        self.device = device
        let name = device ?? ""
        let (code, text): (ExplanationCode, String) =
            switch json["outcome"]?.string {
            case "accepted": (.transportAccepted, "transport \(transport) accepted the push to \(name)")
            case "failed":
                (.transportFailed, "transport \(transport) failed for \(name)\(RecordedOutcome.answer(json))")
            case "excluded_origin": (.originExcluded, "\(name) made the change")
            case "unknown_transport":
                (.transportUnknown, "\(name) registered with transport \(transport), which the pipeline does not have")
            default: (.deviceNone, "the user had no device")
            }
        let details = ["device", "transport", "status", "reason", "attempts"].compactMap { key in
            json.member(key).map { Explanation.Detail(key, $0) }
        }
        explanation = Explanation("deliver", code, text, details)
    }

    private static func answer(_ json: JSONValue) -> String {
        let words = [json["status"]?.int64.map { "\($0)" }, json["reason"]?.string].compactMap { $0 }
        return words.isEmpty ? "" : ": " + words.joined(separator: " ")
    }
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
        let hasCome = try LogScan.events(in: logs.log(of: stage), from: event.now, marks: [mark]) { answer in
            if found == nil, isIt(answer.json) { found = answer.kept }
        } isEnough: {
            found != nil || $0.reaches(event.sequence)
        }
        if found == nil { end = hasCome ? try lost(event.sequence, stage, logs) : pending(stage) }
        return found
    }

    private func pending(_ stage: PipelineStage) -> Explanation {
        Explanation(
            stage.kind, .outcomePending, "\(stage.name) has not come so far yet", [.init("stage", stage.name)])
    }

    private func lost(_ sequence: UInt64, _ stage: PipelineStage, _ logs: RecordedLogs) throws -> Explanation {
        try DeadLetter.find(sequence, stage, logs)
            ?? Explanation(
                stage.kind, .stageDropped, "\(stage.name) did not pass it on", [.init("stage", stage.name)])
    }
}

// MARK: - Coalescing

extension RecordedFlow {
    /// The longest that settings let a notification wait.
    private static let patience = Duration.seconds(36_000)

    private mutating func notification(
        of match: LoggedEvent, _ change: UInt64, _ stage: PipelineStage, in logs: RecordedLogs
    ) throws -> LoggedEvent? {
        guard let log = logs.log(ofKind: stage.kind) else {
            end = pending(stage)
            return nil
        }
        let mayWait = try match.withJSON { json in
            NotificationVisibility.isSilent(json["notificationInfo"])
                || json["notificationInfo"]?["collapseIDKey"]?.isString ?? false
        }
        var search = NotificationSearch(match: match.sequence, change: change, user: user, subscription: subscriptionID)
        let limit = match.now.advanced(by: RecordedFlow.patience)
        var reached = false
        let isOver = try LogScan.events(in: log, from: match.now, marks: LogScan.quoted([user])) {
            search.look(at: $0)
        } isEnough: { header in
            reached = reached || header.reaches(match.sequence)
            return search.found != nil || (mayWait ? header.now > limit : reached)
        }
        steps += search.replacement
        if let found = search.found {
            steps.append(try made(found, stage))
            causes = try found.withJSON { json in
                json["causes"].map { $0.elements.compactMap { $0["sequence"]?.sequenceNumber } } ?? []
            }
            return found
        }
        end = isOver ? try lost(match.sequence, stage, logs) : reached && mayWait ? held(stage) : pending(stage)
        return nil
    }

    private func made(_ notification: LoggedEvent, _ stage: PipelineStage) throws -> Explanation {
        try notification.withJSON { json in
            let id = json["notificationID"]?.string ?? ""
            let count = json["causes"]?.count ?? 1
            let text = "notification \(id) was made" + (count > 1 ? ", which stands for \(count) changes" : "")
            return Explanation(
                stage.kind, .notificationMade, text,
                [.init("notificationID", id), .init("sequence", notification.sequence)])
        }
    }

    private func held(_ stage: PipelineStage) -> Explanation {
        Explanation(stage.kind, .notificationHeld, "the notification waits for a newer one that may replace it")
    }
}

/// Follows a match through those that replaced it to the notification that stands for it.
private struct NotificationSearch {
    private var newest: (match: Int64, change: Int64)
    private let change: Int64
    private let user: String
    private let subscription: String
    private var replacements = 0
    private(set) var found: LoggedEvent?

    init(match: UInt64, change: UInt64, user: String, subscription: String) {
        newest = (Int64(match), Int64(change))
        self.change = Int64(change)
        self.user = user
        self.subscription = subscription
    }

    mutating func look(at event: LogScan.Event) {
        let json = event.json
        guard found == nil, json["user"]?.equals(user) ?? false else { return }
        if json["type"]?.equals("coalesced") ?? false {
            replace(json)
        } else if json["type"]?.equals("notification") ?? false, json["change"]?.int64 == newest.change,
            json["causes"]?.elements.contains(where: { $0["sequence"]?.int64 == change }) ?? false,
            replacements > 0 || json["subscriptionID"]?.equals(subscription) ?? false
        {
            found = event.kept
        }
    }

    private mutating func replace(_ json: JSONValue) {
        guard json["match"]?.int64 == newest.match, let match = json["replacedBy"]?.int64,
            let change = json["replacedByChange"]?.int64
        else { return }
        newest = (match, change)
        replacements += 1
    }

    /// Nothing where none replaced it.
    var replacement: [Explanation] {
        guard replacements > 0 else { return [] }
        let text =
            replacements == 1
            ? "a newer notification, of change \(newest.change), replaced it"
            : "\(replacements) newer notifications replaced it one after the other, the last one of change "
                + "\(newest.change)"
        return [
            Explanation(
                "coalesce", .coalescedInto, text,
                [
                    .init("replacedBy", UInt64(clamping: newest.match)),
                    .init("replacedByChange", UInt64(clamping: newest.change)),
                    .init("times", UInt64(replacements)),
                ])
        ]
    }
}

/// What a stage set aside, from the log of dead letters beside its own.
enum DeadLetter {
    static func find(_ sequence: UInt64, _ stage: PipelineStage, _ logs: RecordedLogs) throws -> Explanation? {
        let log = logs.log(of: stage) + ".dead-letters"
        guard LogPlace.isLog(log) else { return nil }
        var found: Explanation?
        _ = try LogScan.events(in: log, from: .epoch, marks: [#""sequence":\#(sequence),"#]) { event in
            guard event.json["sequence"]?.int64 == Int64(sequence) else { return }
            let reason = event.json["reason"]?.string ?? ""
            found = Explanation(
                stage.kind, stage.kind == "match" ? .changeRefused : .eventDeadLetter,
                "\(stage.name) could not use it: \(reason)",
                ["code", "path"].compactMap { key in event.json.member(key).map { .init(key, $0) } })
        } isEnough: { _ in
            found != nil
        }
        return found
    }
}
