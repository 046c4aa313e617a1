import EventLog
import Events
import JSON
import PipelineKit
import StageTool
import Time

/// The answer of `belfry explain`: whether a change was pushed, and why.
package struct ExplainedAnswer {
    struct Device {
        let name: ExactText
        let isPushed: Bool
        let reason: Explanation
    }

    let change: ExplainedChange
    let subject: ResolvedSubject
    private(set) var devices: [Device] = []
    private(set) var reason: Explanation
    private(set) var explanations: [Explanation] = []

    package var isPushed: Bool { devices.contains { $0.isPushed } }

    package init(
        _ change: ExplainedChange, _ subject: ResolvedSubject, in logs: RecordedLogs, _ finder: any EventFinder
    ) throws {
        self.change = change
        self.subject = subject
        let logs = try logs.inLane(of: subject.user, for: change)
        guard change.isRecord else {
            reason = ExplainedAnswer.notARecord(change)
            explanations = [reason]
            return
        }
        let recorded = try RecordedFlows(
            of: change, user: subject.user, subscriptionID: subject.subscriptionID, in: logs)
        let (flows, isPending) = (recorded.flows, recorded.isPending)
        let letter =
            try flows.isEmpty
            ? logs.stage(writing: .matches).flatMap {
                try DeadLetterReasons.all(of: [change.sequence], $0, logs)[change.sequence]
            } : nil
        let isTrimmed = try logs.lacksFirstChanges()
        // A fresh match stage explains by today's rules: this build with the current settings. If the recorded stage
        // crashed on this change, no fresh stage is asked, because it would crash too.
        let rules =
            try letter?.isOfCrash == true
            ? []
            : MatchReason(
                change: change, logs: logs, finder: finder, user: subject.user, subscriptionID: subject.subscriptionID,
                isTrimmed: isTrimmed
            ).explanations()
        let joined = ExplainedAnswer.join(rules, flows, isPending, logs, isTrimmed)
        explanations = joined
        if let letter {
            explanations.insert(letter, at: 0)
        } else if recorded.isUnwatched {
            explanations.append(Explanation(.matches, .changeUnmatched, "no subscription of any user watched it"))
        }
        let unmatched =
            letter ?? (isPending ? ExplainedAnswer.pending(logs) : ExplainedAnswer.unmatched(joined, subject))
        reason = unmatched
        try explainDevices(flows, unmatched, in: logs, finder)
    }

    private static func notARecord(_ change: ExplainedChange) -> Explanation {
        Explanation(
            .changes, .changeNotARecord,
            "change \(change.sequence) is a \(change.type), not a change of a record, so it is never pushed",
            [.init("type", change.type)])
    }
}

// MARK: - Subscriptions

extension ExplainedAnswer {
    /// Joins the fresh match stage's explanation of each subscription with its recorded flow.
    ///
    /// - Parameter rules: The explanations of the fresh match stage.
    private static func join(
        _ rules: [Explanation], _ flows: [RecordedFlow], _ isPending: Bool, _ logs: RecordedLogs,
        _ isTrimmed: Bool
    ) -> [Explanation] {
        var rest = Dictionary(flows.map { ($0.identity, $0) }) { first, _ in first }
        let joined = rules.map { explanation in
            guard let flow = rest.removeValue(forKey: explanation.identity) else {
                return isPending ? explanation : expected(explanation, logs)
            }
            return adding(flow, to: explanation, logs, isTrimmed)
        }
        return joined
            + flows.filter { rest[$0.identity] != nil }.map { flow in
                adding(flow, to: unexpected(flow, isSaveGone: isTrimmed, logs), logs, isTrimmed)
            }
    }

    /// Notes a match that today's rules expect and the log does not contain.
    private static func expected(_ explanation: Explanation, _ logs: RecordedLogs) -> Explanation {
        guard explanation.code == .subscriptionMatched else { return explanation }
        var differing = explanation
        differing.parts.append(
            logs.difference(.matches, "it matches by today's rules, but the log contains no match for it"))
        return differing
    }

    /// Explains a match that today's rules do not give, or that they cannot give because its subscription's save is
    /// gone.
    private static func unexpected(
        _ flow: RecordedFlow, isSaveGone: Bool, _ logs: RecordedLogs
    ) -> Explanation {
        let match = "the log contains a match for \"\(flow.subscriptionID)\" of \(flow.user)"
        let details: [Explanation.Detail] = [
            .init(Member.subscriptionID.description, flow.subscriptionID.string),
            .init(Member.match.description, flow.match.sequence),
        ]
        if isSaveGone {
            return Explanation(
                .matches, .subscriptionMatched,
                "\(match); this subscription was saved before the first change in the log", details)
        }
        return logs.difference(.matches, "\(match), but by today's rules this subscription does not match", details)
    }

    private static func adding(
        _ flow: RecordedFlow, to explanation: Explanation, _ logs: RecordedLogs, _ isTrimmed: Bool
    ) -> Explanation {
        var joined = explanation
        if explanation.code != .subscriptionMatched, explanation.code != .replayDiffers {
            let isSaveGone = isTrimmed && [.subscriptionNone, .subscriptionSavedLater].contains(explanation.code)
            joined.parts.append(unexpected(flow, isSaveGone: isSaveGone, logs))
        }
        joined.parts += flow.steps + [flow.end].compactMap { $0 }
        return joined
    }

    private static func pending(_ logs: RecordedLogs) -> Explanation {
        let cause = logs.pluginsText(before: .matches).map { ", or \($0) dropped it" } ?? ""
        return Explanation(.matches, .outcomePending, "match has not processed the change yet" + cause)
    }

    /// Sums up why no subscription matched.
    private static func unmatched(
        _ explanations: [Explanation], _ subject: ResolvedSubject
    ) -> Explanation {
        guard explanations.count == 1, let only = explanations.first else {
            return Explanation(
                .matches, .subscriptionNotMatched,
                "none of the \(explanations.count) subscriptions of \(subject.user) watched it")
        }
        if let differing = only.parts.last, differing.code == .replayDiffers { return differing }
        guard only.code == .subscriptionNotMatched else { return only }
        let failed = only.parts.first { $0.code.effect == .preventsPush }
        return Explanation(.matches, failed?.code ?? only.code, only.text, failed?.details ?? [])
    }
}

extension RecordedLogs {
    /// A difference between a log and what today's rules expect. The rules are applied to the log of changes, so a
    /// plugin before the stage may be the cause.
    fileprivate func difference(
        _ log: LogKind, _ text: String, _ details: [Explanation.Detail] = []
    ) -> Explanation {
        let cause = pluginsText(before: log).map { "; \($0) may have dropped or changed an event" } ?? ""
        return Explanation(log, .replayDiffers, text + cause, details)
    }

    /// Names the plugins before a log's stage; nil if there are none.
    fileprivate func pluginsText(before log: LogKind) -> String? {
        let names = plugins(before: log).map(\.name)
        guard !names.isEmpty else { return nil }
        return "the plugin stage\(names.count > 1 ? "s" : "") \(names.joined(separator: " and ")) before \(log.stage)"
    }
}

extension RecordedFlow {
    fileprivate var identity: [[UInt8]] {
        ([subscriptionID, user] + databasePath).map { Explanation.Detail("", $0.string).json }
    }
}

extension Explanation {
    /// The subscription's ID, user, container, environment and database, as JSON.
    fileprivate var identity: [[UInt8]] {
        ([.subscriptionID, .user, .container, .environment, .database] as [Member]).map(\.description).map { name in
            details.first { $0.name == name }?.json ?? []
        }
    }
}

// MARK: - Devices

extension ExplainedAnswer {
    private mutating func explainDevices(
        _ flows: [RecordedFlow], _ unmatched: Explanation, in logs: RecordedLogs, _ finder: any EventFinder
    ) throws {
        let place = try change.event.withJSON { ($0[.container]?.exact, $0[.environment]?.exact) }
        let known = subject.devices.filter { ($0.key.user.container, $0.key.user.environment) == place }
        let outcomes = Dictionary(grouping: flows.flatMap(\.outcomes).filter { $0.device != nil }) { $0.device ?? "" }
        let names = subject.device.map { [$0] } ?? Set(known.map(\.name) + outcomes.keys).sorted()
        let moment = flows.compactMap(\.pushedAt).last ?? change.event.now
        for name in names {
            let own = outcomes[name] ?? []
            let history = flows.isEmpty || !own.isEmpty ? nil : known.first { $0.name == name }
            let answer = device(
                name, try history.map { try absence(of: $0, atPush: moment, in: logs, finder) }, own, flows, unmatched)
            devices.append(answer)
            if own.isEmpty, !flows.isEmpty, answer.reason.stage == LogKind.outcomes.stage {
                explanations.append(answer.reason)
            }
        }
        reason = verdict(flows, unmatched)
    }

    private func device(
        _ name: ExactText, _ absence: Explanation?, _ outcomes: [RecordedOutcome], _ flows: [RecordedFlow],
        _ unmatched: Explanation
    ) -> Device {
        if let accepted = outcomes.first(where: \.isAccepted) {
            return Device(name: name, isPushed: true, reason: accepted.explanation)
        }
        if let outcome = outcomes.first(where: \.isFinal) ?? outcomes.last {
            return Device(name: name, isPushed: false, reason: outcome.explanation)
        }
        if flows.isEmpty { return Device(name: name, isPushed: false, reason: unmatched) }
        if let end = flows.compactMap(\.end).first { return Device(name: name, isPushed: false, reason: end) }
        let none = Explanation(
            .outcomes, .deviceNone,
            "the log contains no device \(name) of \(subject.user) in the container and environment of the change")
        return Device(name: name, isPushed: false, reason: absence ?? none)
    }

    /// Why a device of the user has no outcome for a push.
    private func absence(
        of device: DeviceHistory, atPush moment: Instant, in logs: RecordedLogs, _ finder: any EventFinder
    ) throws -> Explanation {
        let state = try device.state(
            atPush: moment, of: change.sequence, in: logs.log(of: logs.stages[0]), finder)
        guard state.code == .deviceRegistered else { return state }
        return try retirement(of: device, by: moment, in: logs) ?? missing(device, in: logs, finder)
    }

    /// The newest retirement of a device up to a time; nil if deliver had not retired the device.
    private func retirement(
        of device: DeviceHistory, by moment: Instant, in logs: RecordedLogs
    ) throws -> Explanation? {
        let (name, owner) = (device.name, device.key.user)
        guard let stage = logs.stage(writing: .outcomes), let log = logs.existingLog(of: stage) else { return nil }
        var found: Explanation?
        _ = try LogScan.events(in: log, from: .epoch, containing: [.text("device.retired"), .text(name)]) { event in
            guard event.now <= moment, event.json[.type]?.equals(EventName.deviceRetired) ?? false,
                event.json[.user]?.exact == subject.user, event.json[.device]?.exact == name,
                event.json[.container]?.exact == owner.container, event.json[.environment]?.exact == owner.environment
            else { return }
            found = Explanation(
                .outcomes, .deviceRetired, "\(name) was retired: its token was no longer valid",
                ["device", "status", "reason", "since", "registered"].compactMap { key in
                    event.json.member(key).map { .init(key, $0) }
                })
        } isEnough: {
            $0.now > moment
        }
        return found
    }

    private func missing(
        _ device: DeviceHistory, in logs: RecordedLogs, _ finder: any EventFinder
    ) throws -> Explanation {
        let details: [Explanation.Detail] = [.init("device", device.name.string)]
        for stage in logs.plugins(before: .outcomes) {
            guard let log = logs.existingLog(of: stage), try EventLogs.summary(directory: log).firstSequence == 1
            else { continue }
            let passed = try DeviceHistory.all(in: log, user: subject.user, device: device.name, finder)
            if passed.contains(where: { $0.key == device.key && $0.hasRegistration }) { continue }
            return Explanation(
                .outcomes, .stageDropped, "\(stage.name) did not pass on the registration of \(device.name)",
                details + [.init("stage", stage.name)])
        }
        return logs.difference(
            .outcomes,
            "\(device.name) was registered when the push came, but the log contains no outcome for this device",
            details)
    }

    private func verdict(_ flows: [RecordedFlow], _ unmatched: Explanation) -> Explanation {
        if let pushed = devices.first(where: \.isPushed) { return pushed.reason }
        if let only = devices.first, devices.count == 1 { return only.reason }
        if flows.isEmpty { return unmatched }
        if let end = flows.compactMap(\.end).first { return end }
        if devices.isEmpty { return flows.flatMap(\.outcomes).first?.explanation ?? unmatched }
        let codes = Set(devices.map(\.reason.code))
        return codes.count == 1
            ? devices[0].reason
            : Explanation(
                .outcomes, devices[0].reason.code, devices.map { $0.reason.text }.joined(separator: "; "))
    }
}

// MARK: - Verdict and JSON

extension ExplainedAnswer {
    var target: String {
        subject.device?.string ?? subject.subscriptionID.map { "\"\($0)\" of \(subject.user)" } ?? subject.user.string
    }

    var verdict: String {
        guard isPushed else { return "not pushed to \(target): \(reason.text)" }
        if subject.device != nil { return "pushed to \(target)" }
        let names = devices.filter(\.isPushed).map(\.name.string)
        return
            "pushed to \(names.joined(separator: ", ")), \(names.count) of \(devices.count.of("device")) of \(subject.user)"
    }

    package var json: String {
        ByteBuffer.object {
            $0.append("change", change.sequence)
            $0.append("event", change.text)
            $0.append("now", change.event.now.rfc3339)
            $0.append(.user, subject.user.string)
            $0.append("device", subject.device?.string)
            $0.append("subscription", subject.subscriptionID?.string)
            $0.append("pushed", isPushed)
            $0.append("verdict", verdict)
            $0.append("code", reason.code.rawValue)
            $0.append("devices", devices) { $0.append(raw: $1.json) }
            $0.append(member: "explanations")
            Explanation.write(explanations, into: &$0)
        }.text
    }
}

extension ExplainedAnswer.Device {
    fileprivate var json: String {
        ByteBuffer.object {
            $0.append("device", name.string)
            $0.append("pushed", isPushed)
            $0.append("code", reason.code.rawValue)
            $0.append("text", reason.text)
        }.text
    }
}
