import EventLog
import JSON
import PipelineKit

/// The answer: pushed or not, why, and all that led to it.
struct ExplainedAnswer {
    struct Device {
        let name: String
        let isPushed: Bool
        let reason: Explanation
    }

    let change: ExplainedChange
    let subject: ResolvedSubject
    private(set) var devices: [Device] = []
    /// The reason that the verdict gives.
    private(set) var reason: Explanation
    private(set) var explanations: [Explanation] = []

    var isPushed: Bool { devices.contains { $0.isPushed } }

    init(
        _ change: ExplainedChange, _ subject: ResolvedSubject, in logs: RecordedLogs, _ finder: any EventFinder
    ) throws {
        self.change = change
        self.subject = subject
        guard change.isRecord else {
            reason = ExplainedAnswer.notARecord(change)
            explanations = [reason]
            return
        }
        let recorded = try RecordedFlow.all(
            of: change, user: subject.user, subscriptionID: subject.subscriptionID, in: logs)
        let (flows, isPending) = (recorded.flows, recorded.isPending)
        var told = try MatchReason(
            change: change, logs: logs, finder: finder, user: subject.user, subscriptionID: subject.subscriptionID
        ).explanations()
        told = ExplainedAnswer.join(told, flows, isPending)
        explanations = told
        let letter =
            try flows.isEmpty
            ? logs.stage(ofKind: "match").flatMap { try DeadLetter.find(change.sequence, $0, logs) } : nil
        if let letter {
            explanations.insert(letter, at: 0)
        } else if recorded.isUnwatched {
            explanations.append(Explanation("match", .changeUnmatched, "nobody's subscription watched it"))
        }
        let unmatched = letter ?? ExplainedAnswer.unmatched(told, subject, isPending)
        reason = unmatched
        try explainDevices(flows, unmatched, in: logs, finder)
    }

    private static func notARecord(_ change: ExplainedChange) -> Explanation {
        Explanation(
            "ingest", .changeNotARecord,
            "change \(change.sequence) is a \(change.type), no change of a record: nothing is pushed for it",
            [.init("type", change.type)])
    }
}

// MARK: - Subscriptions

extension ExplainedAnswer {
    /// What the rules say of each subscription, with what the logs tell of those that matched.
    private static func join(
        _ told: [Explanation], _ flows: [RecordedFlow], _ isPending: Bool
    ) -> [Explanation] {
        var rest = flows
        var joined = told.map { explanation in
            let index = rest.firstIndex { $0.isOf(explanation) }
            guard let index else { return isPending ? explanation : expected(explanation) }
            let flow = rest.remove(at: index)
            return with(flow, explanation)
        }
        joined += rest.map { with($0, unexpected($0)) }
        return joined
    }

    /// The rules say that it matched, and the log holds no match.
    private static func expected(_ explanation: Explanation) -> Explanation {
        guard explanation.code == .subscriptionMatched else { return explanation }
        var differing = explanation
        differing.parts.append(
            Explanation(
                "match", .replayDiffers, "by today's rules it watches the change, but the log holds no match for it"))
        return differing
    }

    private static func unexpected(_ flow: RecordedFlow) -> Explanation {
        Explanation(
            "match", .replayDiffers,
            "the log holds a match for \"\(flow.subscriptionID)\" of \(flow.user), which by today's rules there is not",
            [.init("subscriptionID", flow.subscriptionID), .init("match", flow.match.sequence)])
    }

    private static func with(_ flow: RecordedFlow, _ explanation: Explanation) -> Explanation {
        var joined = explanation
        if explanation.code != .subscriptionMatched, explanation.code != .replayDiffers {
            joined.parts.append(unexpected(flow))
        }
        joined.parts += flow.steps + [flow.end].compactMap { $0 }
        return joined
    }

    /// Why there is no match at all, in one reason.
    private static func unmatched(
        _ explanations: [Explanation], _ subject: ResolvedSubject, _ isPending: Bool
    ) -> Explanation {
        if isPending { return Explanation("match", .outcomePending, "match has not come so far yet") }
        guard explanations.count == 1, let only = explanations.first else {
            return Explanation(
                "match", .subscriptionNotMatched,
                "none of the \(explanations.count) subscriptions of \(subject.user) watched it")
        }
        if let differing = only.parts.last, differing.code == .replayDiffers { return differing }
        guard only.code == .subscriptionNotMatched else { return only }
        let failed = only.parts.first { ExplanationPrinter.mark(of: $0.code) == .bad }
        return Explanation("match", failed?.code ?? only.code, only.text, failed?.details ?? [])
    }
}

extension RecordedFlow {
    fileprivate func isOf(_ explanation: Explanation) -> Bool {
        func isSame(_ name: String, _ text: String) -> Bool {
            explanation.detail(name) == Explanation.Detail(name, text).json.text
        }
        return isSame("subscriptionID", subscriptionID) && isSame("user", user) && isSame("container", place[0])
            && isSame("environment", place[1]) && isSame("database", place[2])
    }
}

extension [UInt8] {
    fileprivate var text: String { String(decoding: self, as: UTF8.self) }
}

// MARK: - Devices

extension ExplainedAnswer {
    private mutating func explainDevices(
        _ flows: [RecordedFlow], _ unmatched: Explanation, in logs: RecordedLogs, _ finder: any EventFinder
    ) throws {
        let place = try change.event.withJSON { ($0["container"]?.string, $0["environment"]?.string) }
        let log = logs.log(of: logs.path[0])
        let known = subject.devices.filter { ($0.container, $0.environment) == place }
        let told = flows.flatMap { $0.outcomes.compactMap(\.device) }
        let names = subject.device.map { [$0] } ?? Set(known.map(\.name) + told).sorted()
        for name in names {
            let isTold = flows.isEmpty || told.contains(name)
            let state =
                try isTold
                ? nil
                : known.first { $0.name == name }?.state(
                    at: flows.compactMap(\.pushed).last ?? change.event.now, in: log, finder)
            devices.append(device(name, state, flows, unmatched))
        }
        reason = verdict(flows, unmatched)
        let states = devices.map(\.reason).filter { $0.stage == "deliver" && !told.contains($0.detailText("device")) }
        if !flows.isEmpty { explanations += states }
    }

    private func device(
        _ name: String, _ state: Explanation?, _ flows: [RecordedFlow], _ unmatched: Explanation
    ) -> Device {
        let outcomes = flows.flatMap(\.outcomes).filter { $0.device == name }
        if let accepted = outcomes.first(where: \.isAccepted) {
            return Device(name: name, isPushed: true, reason: accepted.explanation)
        }
        if let outcome = outcomes.first { return Device(name: name, isPushed: false, reason: outcome.explanation) }
        if flows.isEmpty { return Device(name: name, isPushed: false, reason: unmatched) }
        if let end = flows.compactMap(\.end).first { return Device(name: name, isPushed: false, reason: end) }
        let none = Explanation("deliver", .deviceNone, "\(subject.user) had no device \(name) there")
        let reason = state.map { $0.code == .deviceRegistered ? missing(name) : $0 } ?? none
        return Device(name: name, isPushed: false, reason: reason)
    }

    private func missing(_ name: String) -> Explanation {
        Explanation(
            "deliver", .replayDiffers, "\(name) was registered by then, but the log holds no outcome for it",
            [.init("device", name)])
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
                "deliver", devices[0].reason.code, devices.map { $0.reason.text }.joined(separator: "; "))
    }
}

extension Explanation {
    fileprivate func detailText(_ name: String) -> String {
        detail(name).map { String($0.dropFirst().dropLast()) } ?? ""
    }
}

// MARK: - For programs

extension ExplainedAnswer {
    /// What it was or was not pushed to.
    var target: String {
        subject.device ?? (subject.subscriptionID.map { "\"\($0)\" of \(subject.user)" } ?? subject.user)
    }

    var verdict: String {
        guard isPushed else { return "not pushed to \(target): \(reason.text)" }
        let told = devices.filter(\.isPushed).map(\.name)
        if subject.device != nil { return "pushed to \(target)" }
        return
            "pushed to \(told.joined(separator: ", ")), \(told.count) of \(devices.count.of("device")) of \(subject.user)"
    }

    /// One object.
    var json: String {
        var buffer = ByteBuffer()
        buffer.append("{\"change\":")
        buffer.appendJSON(change.sequence)
        append("event", change.text, to: &buffer)
        append("now", change.event.now.rfc3339, to: &buffer)
        append("user", subject.user, to: &buffer)
        if let device = subject.device { append("device", device, to: &buffer) }
        if let id = subject.subscriptionID { append("subscription", id, to: &buffer) }
        buffer.append(isPushed ? ",\"pushed\":true" : ",\"pushed\":false")
        append("verdict", verdict, to: &buffer)
        append("code", reason.code.rawValue, to: &buffer)
        appendDevices(to: &buffer)
        buffer.append(",\"explanations\":")
        Explanation.write(explanations, into: &buffer)
        buffer.append("}")
        return buffer.text
    }

    private func append(_ key: StaticString, _ text: String, to buffer: inout ByteBuffer) {
        buffer.append(",\"")
        buffer.append(key)
        buffer.append("\":")
        buffer.appendJSON(text)
    }

    private func appendDevices(to buffer: inout ByteBuffer) {
        buffer.append(",\"devices\":[")
        for (index, device) in devices.enumerated() {
            buffer.append(index > 0 ? ",{\"device\":" : "{\"device\":")
            buffer.appendJSON(device.name)
            buffer.append(device.isPushed ? ",\"pushed\":true" : ",\"pushed\":false")
            append("code", device.reason.code.rawValue, to: &buffer)
            append("text", device.reason.text, to: &buffer)
            buffer.append("}")
        }
        buffer.append("]")
    }
}
