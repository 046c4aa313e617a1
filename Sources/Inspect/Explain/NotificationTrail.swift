import EventLog
import Events
import JSON
import PipelineKit
import Time

/// Follows the matches of one change and one user from log to log. Each read of a log serves all matches.
struct NotificationTrail {
    /// A match's event in the log that was read last: the match itself, or the event to which it led.
    struct Position {
        /// The index in ``flows``.
        let flow: Int
        let event: LoggedEvent
    }

    let change: UInt64
    let user: ExactText
    let logs: RecordedLogs
    var flows: [RecordedFlow]

    /// - Parameter flows: The matches of one change, each with a subscription ID of its own.
    init(_ flows: [RecordedFlow], _ change: UInt64, _ user: ExactText, _ logs: RecordedLogs) {
        (self.flows, self.change, self.user, self.logs) = (flows, change, user, logs)
    }

    mutating func run(after stage: PipelineStage) throws {
        var open = flows.indices.map { Position(flow: $0, event: flows[$0].match) }
        for stage in logs.stages.drop(while: { $0.name != stage.name }).dropFirst() {
            switch stage.writes {
            case .notifications: open = try notifications(of: open, stage)
            case .pushes: open = try pushes(of: open, stage)
            case .outcomes:
                for position in open { flows[position.flow].pushedAt = position.event.now }
                return try findOutcomes(of: open, stage)
            default: open = try pass(open, through: stage)
            }
        }
    }

    /// Follows flows through a plugin, which may drop some of them.
    private mutating func pass(_ open: [Position], through stage: PipelineStage) throws -> [Position] {
        let keys = try open.map { try $0.event.withJSON(PassedKey.init) }
        let (user, change) = (user, change)
        return try firstEvents(of: open, in: stage, containing: [.sequence(change)], keys) { json in
            json[.user]?.equals(user.string) ?? false ? PassedKey(json) : nil
        }
    }

    /// The members that an event of one user has in common with the event that a plugin wrote for it.
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
    /// Identifies a notification of one user. Notifications for several subscriptions may share an ID.
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
        let pushes = try firstEvents(of: open, in: stage, containing: shared.map(RequiredValue.text), keys) { json in
            json[.type]?.equals(EventName.push) ?? false && json[.user]?.equals(user.string) ?? false
                ? NotificationKey(json) : nil
        }
        let notifications = Dictionary(uniqueKeysWithValues: open.map { ($0.flow, $0.event) })
        let fresh = try pushes.isEmpty ? nil : FreshStage.make(stage, try logs.context(of: stage))
        for push in pushes {
            guard let notification = notifications[push.flow] else { continue }
            let rules = try fresh?.explain(notification, for: ExplainedSubject()) ?? []
            flows[push.flow].steps += try compared(rules, with: push.event, stage)
        }
        return pushes
    }

    /// Adds a note if the recorded push was pruned and the rules would not prune it, or the reverse. Pushes with a
    /// badge are not compared.
    private func compared(
        _ rules: [Explanation], with push: LoggedEvent, _ stage: PipelineStage
    ) throws -> [Explanation] {
        let (isPruned, hasBadge) = try push.withJSON { json in
            (json[.payload]?["ck"]?["p"] != nil, json[.payload]?["aps"]?[.badge] != nil)
        }
        let codes: [ExplanationCode] = [.payloadPruned, .payloadUnfit]
        guard !hasBadge, rules.contains(where: { codes.contains($0.code) }) != isPruned else { return rules }
        let text =
            isPruned
            ? "the recorded push is pruned, but would not be by today's rules"
            : "the recorded push is not pruned, but would be by today's rules"
        return rules + [Explanation(stage.kind, .replayDiffers, text)]
    }

    private mutating func findOutcomes(of open: [Position], _ stage: PipelineStage) throws {
        guard let newest = open.map(\.event.sequence).max(), let start = open.map(\.event.now).min() else { return }
        guard let log = logs.existingLog(of: stage) else { return try close(open, in: stage, last: nil) }
        let flowsOf = Dictionary(grouping: open, by: \.event.sequence).mapValues { $0.map(\.flow) }
        let required: [RequiredValue] = flowsOf.count == 1 ? [.sequence(newest)] : []
        var (found, last) = ([Int: [RecordedOutcome]](), nil as BatchHeader?)
        var waiting: Set<ExactText> = []
        _ = try LogScan.events(in: log, from: start, containing: [.text(user)] + required) { event in
            guard event.json.isOutcomeOrAttempt, let push = event.json[.push]?.sequence, let flows = flowsOf[push]
            else { return }
            let outcome = RecordedOutcome(event.json, sequence: event.sequence)
            let place = ExactText("\(push) \(outcome.device?.string ?? "")")
            if outcome.isFinal { waiting.remove(place) } else { waiting.insert(place) }
            for flow in flows { found[flow, default: []].append(outcome) }
        } isEnough: { header in
            last = header
            return header.reaches(newest) && waiting.isEmpty
        }
        if found.values.contains(where: { $0.contains { !$0.isAccepted && $0.isFinal } }) {
            try addRedrives(of: flowsOf, from: start, in: log, to: &found)
        }
        for (flow, outcomes) in found {
            flows[flow].outcomes = outcomes
            flows[flow].steps += outcomes.map(\.explanation)
        }
        try close(open.filter { found[$0.flow] == nil }, in: stage, last: last)
    }
}

extension NotificationTrail {
    /// Adds the outcomes of redrives, also of redrives of redrives.
    private func addRedrives(
        of flowsOf: [UInt64: [Int]], from start: Instant, in log: String, to found: inout [Int: [RecordedOutcome]]
    ) throws {
        var flowsOf = flowsOf
        try LogScan.events(
            in: log, from: start, containing: [.text(user), .text(ExactText(Member.redriveOf.description))]
        ) { event in
            guard event.json.isOutcomeOrAttempt, event.json[.user]?.equals(user.string) ?? false,
                let former = event.json[.redriveOf].flatMap(EventPlace.init),
                let flows = flowsOf[former.sequence]
            else { return }
            if let push = event.json[.push]?.sequence { flowsOf[push] = flows }
            for flow in flows { found[flow, default: []].append(RecordedOutcome(event.json, sequence: event.sequence)) }
        }
    }
}

extension JSONValue {
    fileprivate var isOutcomeOrAttempt: Bool {
        self[.type].map { $0.equals(EventName.outcome) || $0.equals("attempt") } ?? false
    }
}

// MARK: - Finding the events of all flows in one pass

extension NotificationTrail {
    /// Finds the first event of a stage's log for each flow, and ends the flows without an event.
    ///
    /// - Parameters:
    ///   - values: Values that each of these events contains, in addition to the user's name.
    ///   - keys: The key of each flow's event.
    ///   - key: Returns the key of an event in the stage's log; nil if the event cannot belong to a flow.
    private mutating func firstEvents<Key: Hashable>(
        of open: [Position], in stage: PipelineStage, containing values: [RequiredValue], _ keys: [Key],
        key: (JSONValue) -> Key?
    ) throws -> [Position] {
        guard let newest = open.map(\.event.sequence).max(), let start = open.map(\.event.now).min() else { return [] }
        guard let log = logs.existingLog(of: stage) else {
            try close(open, in: stage, last: nil)
            return []
        }
        var waiting = Dictionary(grouping: zip(keys, open)) { $0.0 }.mapValues { $0.map(\.1.flow) }
        var (found, last) = ([Int: LoggedEvent](), nil as BatchHeader?)
        _ = try LogScan.events(in: log, from: start, containing: [.text(user)] + values) { event in
            guard let key = key(event.json), let flows = waiting.removeValue(forKey: key) else { return }
            for flow in flows { found[flow] = event.copied }
        } isEnough: { header in
            last = header
            return waiting.isEmpty || header.reaches(newest)
        }
        try close(open.filter { found[$0.flow] == nil }, in: stage, last: last)
        return open.compactMap { position in found[position.flow].map { Position(flow: position.flow, event: $0) } }
    }

    private func pending(_ stage: PipelineStage) -> Explanation {
        Explanation(
            stage.kind, .outcomePending, "\(stage.name) has not processed it yet", [.init("stage", stage.name)])
    }

    /// Records for each flow why it has no event in a stage's log.
    ///
    /// - Parameter last: The last batch of the stage's log that was read; nil if no batch was read.
    mutating func close(_ open: [Position], in stage: PipelineStage, last: BatchHeader?) throws {
        let lost = Set(open.map(\.event.sequence).filter { last?.reaches($0) ?? false })
        let letters = try DeadLetterReasons.all(of: lost, stage, logs)
        for position in open {
            let sequence = position.event.sequence
            flows[position.flow].end = lost.contains(sequence) ? letters[sequence] ?? dropped(stage) : pending(stage)
        }
    }

    private func dropped(_ stage: PipelineStage) -> Explanation {
        let text =
            stage.writes == nil ? "wrote no event that can be traced back to it" : "did not pass it on"
        return Explanation(stage.kind, .stageDropped, "\(stage.name) \(text)", [.init("stage", stage.name)])
    }
}
