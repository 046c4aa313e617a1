import EventLog
import JSON
import PipelineKit

/// Runs inputs through the pipeline and looks for what a case is to show.
struct CaseTrial {
    enum Wanted {
        case outcome(CaseOutcome)
        case silence(change: UInt64, user: String, device: String?)
    }

    let path: [PipelineStage]
    let seed: String
    let wanted: Wanted
    var ignoresBadge = false
    var replace: (String) -> String = { $0 }

    /// The inputs are in the order of the log; ``CaseOutcome/change`` and the like speak of its sequences.
    func result(of lines: [CaseLine]) throws -> CaseResult {
        let chain = try CaseChain(path, seed: seed)
        var taken: [UInt64] = []
        var silence = CaseSilence()
        for line in lines {
            let command = try line.command(replace)
            if case .silence(let change, let user, let device) = wanted {
                try note(
                    line, change, replace(user), device.map(replace), chain, UInt64(taken.count + 1), command, &silence)
            }
            if try chain.send(command, at: line.event.now) { taken.append(line.event.sequence) }
        }
        try chain.finish()
        switch wanted {
        case .outcome(let outcome): return try find(outcome, chain, taken)
        case .silence(let change, let user, let device):
            silence.effects = try effects(of: change, replace(user), device.map(replace), chain, taken)
            silence.saved = Set(silence.saved).sorted()
            return taken.contains(change) ? .silence(silence) : .nothing
        }
    }

    // MARK: Outcomes

    private func find(_ outcome: CaseOutcome, _ chain: CaseChain, _ taken: [UInt64]) throws -> CaseResult {
        let pushes = chain.events(ofKind: "payload")
        for event in chain.events(ofKind: "deliver") {
            let found = try event.withJSON { json -> CaseOutcome? in
                guard let push = json["push"]?.int64, Int(push) <= pushes.count else { return nil }
                return try pushes[Int(push) - 1].withJSON { push in
                    CaseOutcome(json, push: push, ignoresBadge: ignoresBadge) { original(of: $0, taken) }
                }
            }
            guard let found else { continue }
            if found == outcome { return .outcome(found) }
            if found.shape() == outcome.shape(replace) { return .outcome(outcome) }
        }
        return .nothing
    }

    private func original(of sequence: UInt64, _ taken: [UInt64]) -> UInt64? {
        sequence > 0 && sequence <= taken.count ? taken[Int(sequence) - 1] : nil
    }
}

// MARK: - What was not pushed

extension CaseTrial {
    /// Looks at a line before it is sent.
    private func note(
        _ line: CaseLine, _ change: UInt64, _ user: String, _ device: String?, _ chain: CaseChain, _ sequence: UInt64,
        _ command: String, _ silence: inout CaseSilence
    ) throws {
        let event = LoggedEvent(sequence: sequence, now: line.event.now, line: Array(command.utf8))
        guard line.event.sequence < change else {
            guard line.event.sequence == change else { return }
            silence.reasons = try reasons(line, event, user, chain)
            return
        }
        try event.withJSON { json in
            guard json["user"]?.equals(user) ?? false else { return }
            if json["type"]?.equals("subscription.save") ?? false {
                silence.saved.append(CaseTrial.name(json, json["subscription"]))
            } else if json["type"]?.equals("device.register") ?? false {
                silence.wasRegistered = silence.wasRegistered || json["device"]?.string == device
            }
        }
    }

    /// The change as ingest would pass it on: explained from what ingest found out when it was recorded.
    private func reasons(
        _ line: CaseLine, _ event: LoggedEvent, _ user: String, _ chain: CaseChain
    ) throws -> [String] {
        var whole = line
        whole.keepsDerived = true
        let recorded = LoggedEvent(
            sequence: event.sequence, now: event.now, line: Array(try whole.command(replace).utf8))
        return try chain.explain(recorded, for: ExplainedSubject(user: user)).map { told in
            let name = ["subscriptionID", "container", "environment", "database"].compactMap(told.detail)
            return (name + [told.code.rawValue] + told.parts.map(\.code.rawValue)).joined(separator: " ")
        }.sorted()
    }

    private func effects(
        of change: UInt64, _ user: String, _ device: String?, _ chain: CaseChain, _ taken: [UInt64]
    ) throws -> [String] {
        guard let index = taken.firstIndex(of: change) else { return [] }
        let sequence = Int64(index + 1)
        let matches = try chain.events(ofKind: "match").compactMap { event in
            try event.withJSON { json in
                json["change"]?.int64 == sequence && json["user"]?.equals(user) ?? false
                    ? "match \(CaseTrial.name(json, nil)) \(json["reason"]?.string ?? "")" : nil
            }
        }
        let outcomes = try chain.events(ofKind: "deliver").compactMap { event in
            try event.withJSON { json -> String? in
                guard json["user"]?.equals(user) ?? false, device == nil || json["device"]?.string == device,
                    json["causes"]?.elements.contains(where: { $0["sequence"]?.int64 == sequence }) ?? false
                else { return nil }
                let kind = json["outcome"]?.string ?? ""
                return "outcome \(kind == "failed" ? "accepted" : kind)"
            }
        }
        return matches.sorted() + outcomes.sorted()
    }

    private static func name(_ json: JSONValue, _ holder: JSONValue?) -> String {
        let id = (holder ?? json)["subscriptionID"]?.string ?? ""
        return (["container", "environment", "database"].map { json.member($0)?.string ?? "" } + [id])
            .joined(separator: " ")
    }
}
