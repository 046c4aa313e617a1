import EventLog
import Events
import JSON
import PipelineKit
import Time

/// Follows the matches of one change and one user from log to log, and reads each log once for all of them.
struct NotificationTrail {
    /// A flow, and the event that it has been followed to.
    struct Position {
        let flow: Int
        let event: LoggedEvent
    }

    let change: UInt64
    let user: ExactText
    let logs: RecordedLogs
    var flows: [RecordedFlow]

    /// - Parameter flows: Of one change, so that a subscription's ID tells them apart.
    init(_ flows: [RecordedFlow], _ change: UInt64, _ user: ExactText, _ logs: RecordedLogs) {
        (self.flows, self.change, self.user, self.logs) = (flows, change, user, logs)
    }

    /// - Parameter stage: The one whose matches they are.
    mutating func run(behind stage: PipelineStage) throws {
        var open = flows.indices.map { Position(flow: $0, event: flows[$0].match) }
        for stage in logs.path.drop(while: { $0.name != stage.name }).dropFirst() {
            switch stage.writes {
            case .notifications: open = try notifications(of: open, stage)
            case .pushes: open = try pushes(of: open, stage)
            case .outcomes:
                for position in open { flows[position.flow].pushed = position.event.now }
                return try findOutcomes(of: open, stage)
            default: open = try pass(open, through: stage)
            }
        }
    }

    /// A stage of the pipeline's own may keep a match, a notification or a push to itself.
    private mutating func pass(_ open: [Position], through stage: PipelineStage) throws -> [Position] {
        let keys = try open.map { try $0.event.withJSON(PassedKey.init) }
        let (user, change) = (user, change)
        return try answers(to: open, in: stage, holding: [.number(change)], keys) { json in
            json[.user]?.equals(user.string) ?? false ? PassedKey(json) : nil
        }
    }

    /// What an event of one user keeps when a stage passes it on.
    private struct PassedKey: Hashable {
        let type: ExactText
        let change: UInt64?
        let notification: NotificationKey

        init(_ json: JSONValue) {
            type = json[.type]?.exact ?? ""
            change = json[.change]?.sequence
            notification = NotificationKey(json)
        }
    }
}

// MARK: - Pushes and outcomes

extension NotificationTrail {
    /// What makes a notification of one user itself: one change may make several of one ID.
    private struct NotificationKey: Hashable {
        let id: ExactText
        let subscription: ExactText

        init(_ json: JSONValue) {
            id = json[.notificationID]?.exact ?? ""
            subscription = json[.subscriptionID]?.exact ?? ""
        }
    }

    private mutating func pushes(of open: [Position], _ stage: PipelineStage) throws -> [Position] {
        let keys = try open.map { try $0.event.withJSON(NotificationKey.init) }
        let ids = Set(keys.map(\.id))
        let (user, shared) = (user, ids.count == 1 ? Array(ids) : [])
        let pushes = try answers(to: open, in: stage, holding: shared.map(HeldValue.text), keys) { json in
            json[.type]?.equals(EventName.push) ?? false && json[.user]?.equals(user.string) ?? false
                ? NotificationKey(json) : nil
        }
        let notifications = Dictionary(uniqueKeysWithValues: open.map { ($0.flow, $0.event) })
        let fresh = try pushes.isEmpty ? nil : FreshStage.make(stage, try logs.context(of: stage))
        for push in pushes {
            guard let notification = notifications[push.flow] else { continue }
            let told = try fresh?.explain(notification, for: ExplainedSubject()) ?? []
            flows[push.flow].steps += try compared(told, with: push.event, stage)
        }
        return pushes
    }

    private func compared(
        _ told: [Explanation], with push: LoggedEvent, _ stage: PipelineStage
    ) throws -> [Explanation] {
        let (isPruned, hasBadge) = try push.withJSON { json in
            (json[.payload]?["ck"]?["p"] != nil, json[.payload]?["aps"]?[.badge] != nil)
        }
        let codes: [ExplanationCode] = [.payloadPruned, .payloadUnfit]
        guard !hasBadge, told.contains(where: { codes.contains($0.code) }) != isPruned else { return told }
        return told + [
            Explanation(
                stage.kind, .replayDiffers,
                "the recorded push is \(isPruned ? "" : "not ")pruned, by today's rules it would\(isPruned ? " not" : "") be"
            )
        ]
    }

    private mutating func findOutcomes(of open: [Position], _ stage: PipelineStage) throws {
        guard let newest = open.map(\.event.sequence).max(), let start = open.map(\.event.now).min() else { return }
        guard let log = logs.existingLog(of: stage) else { return try close(open, in: stage, last: nil) }
        let flowsOf = Dictionary(grouping: open, by: \.event.sequence).mapValues { $0.map(\.flow) }
        let shared: [HeldValue] = flowsOf.count == 1 ? [.number(newest)] : []
        var (told, last) = ([Int: [RecordedOutcome]](), nil as BatchHeader?)
        var waiting: Set<ExactText> = []
        _ = try LogScan.events(in: log, from: start, holding: [.text(user)] + shared) { event in
            guard event.json.tellsOfPush, let push = event.json[.push]?.sequence, let flows = flowsOf[push]
            else { return }
            let outcome = RecordedOutcome(event.json, sequence: event.sequence)
            let place = ExactText("\(push) \(outcome.device?.string ?? "")")
            if outcome.isFinal { waiting.remove(place) } else { waiting.insert(place) }
            for flow in flows { told[flow, default: []].append(outcome) }
        } isEnough: { header in
            last = header
            return header.reaches(newest) && waiting.isEmpty
        }
        if told.values.contains(where: { $0.contains { !$0.isAccepted && $0.isFinal } }) {
            try addRedrives(of: flowsOf, from: start, in: log, to: &told)
        }
        for (flow, outcomes) in told {
            flows[flow].outcomes = outcomes
            flows[flow].steps += outcomes.map(\.explanation)
        }
        try close(open.filter { told[$0.flow] == nil }, in: stage, last: last)
    }
}

extension NotificationTrail {
    /// What came of pushes that were sent again, and of those that were once more.
    private func addRedrives(
        of flowsOf: [UInt64: [Int]], from start: Instant, in log: String, to told: inout [Int: [RecordedOutcome]]
    ) throws {
        var flowsOf = flowsOf
        try LogScan.events(
            in: log, from: start, holding: [.text(user), .text(ExactText(Member.redriveOf.description))]
        ) { event in
            guard event.json.tellsOfPush, event.json[.user]?.equals(user.string) ?? false,
                let former = event.json[.redriveOf].flatMap(EventPlace.init),
                let flows = flowsOf[former.sequence]
            else { return }
            if let push = event.json[.push]?.sequence { flowsOf[push] = flows }
            for flow in flows { told[flow, default: []].append(RecordedOutcome(event.json, sequence: event.sequence)) }
        }
    }
}

extension JSONValue {
    /// Whether the event says what became of a push at a device, for good or until further notice.
    fileprivate var tellsOfPush: Bool {
        self[.type].map { $0.equals(EventName.outcome) || $0.equals("attempt") } ?? false
    }
}

// MARK: - One pass for all

extension NotificationTrail {
    /// The first event of a stage's log that answers each of some; notes the end of those that have none.
    ///
    /// - Parameters:
    ///   - values: What all answers hold beside the user's name.
    ///   - keys: What the answer to each of them bears.
    ///   - key: What an event bears; nil for one that answers none.
    private mutating func answers<Key: Hashable>(
        to open: [Position], in stage: PipelineStage, holding values: [HeldValue], _ keys: [Key],
        key: (JSONValue) -> Key?
    ) throws -> [Position] {
        guard let newest = open.map(\.event.sequence).max(), let start = open.map(\.event.now).min() else { return [] }
        guard let log = logs.existingLog(of: stage) else {
            try close(open, in: stage, last: nil)
            return []
        }
        var waiting = Dictionary(grouping: zip(keys, open)) { $0.0 }.mapValues { $0.map(\.1.flow) }
        var (found, last) = ([Int: LoggedEvent](), nil as BatchHeader?)
        _ = try LogScan.events(in: log, from: start, holding: [.text(user)] + values) { answer in
            guard let key = key(answer.json), let flows = waiting.removeValue(forKey: key) else { return }
            for flow in flows { found[flow] = answer.kept }
        } isEnough: { header in
            last = header
            return waiting.isEmpty || header.reaches(newest)
        }
        try close(open.filter { found[$0.flow] == nil }, in: stage, last: last)
        return open.compactMap { position in found[position.flow].map { Position(flow: position.flow, event: $0) } }
    }

    private func pending(_ stage: PipelineStage) -> Explanation {
        Explanation(
            stage.kind, .outcomePending, "\(stage.name) has not come so far yet", [.init("stage", stage.name)])
    }

    /// Notes why flows came no further than a stage.
    ///
    /// - Parameter last: The last batch of the stage's log that was read; nil where there is none.
    mutating func close(_ open: [Position], in stage: PipelineStage, last: BatchHeader?) throws {
        let lost = Set(open.map(\.event.sequence).filter { last?.reaches($0) ?? false })
        let letters = try DeadLetter.all(of: lost, stage, logs)
        for position in open {
            let sequence = position.event.sequence
            flows[position.flow].end = lost.contains(sequence) ? letters[sequence] ?? dropped(stage) : pending(stage)
        }
    }

    private func dropped(_ stage: PipelineStage) -> Explanation {
        Explanation(stage.kind, .stageDropped, "\(stage.name) did not pass it on", [.init("stage", stage.name)])
    }
}
