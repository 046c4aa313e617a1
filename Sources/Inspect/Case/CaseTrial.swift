import BuiltIns
import EventLog
import Events
import JSON
import PipelineKit
import Replay
import StageTool

/// Runs inputs through the pipeline and looks for the result that a case should have.
struct CaseTrial {
    enum WantedResult {
        case outcome(CaseOutcome)
        case notPushed(change: UInt64, user: ExactText, device: ExactText?)
    }

    let logs: RecordedLogs
    let seed: String
    let wanted: WantedResult
    var ignoresBadge = false
    var disguise = Disguise()

    /// - Parameter lines: The inputs, in the order of the log.
    /// - Returns: The result, with the sequences of the recorded log.
    func result(of lines: [CaseLine]) throws -> CaseResult {
        let chain = try chain()
        var accepted: [UInt64] = []
        var evidence = NotPushedEvidence()
        for line in lines {
            let command = try line.command(disguise)
            if case .notPushed(let change, let user, let device) = wanted {
                let event = LoggedEvent(
                    sequence: UInt64(accepted.count + 1), now: line.event.now, line: Array(command.utf8))
                try collect(
                    line, event, change, user.map(disguise.text), device?.map(disguise.text), chain, &evidence)
            }
            if try chain.send(command, at: line.event.now) { accepted.append(line.event.sequence) }
        }
        try chain.finish()
        switch wanted {
        case .outcome(let outcome): return try find(outcome, chain, accepted)
        case .notPushed(let change, let user, let device):
            evidence.effects = try effects(
                of: change, user.map(disguise.text), device?.map(disguise.text), chain, accepted)
            evidence.savedSubscriptions = Set(evidence.savedSubscriptions).sorted()
            return accepted.contains(change) ? .notPushed(evidence) : .nothing
        }
    }

    private func chain() throws -> Chain {
        if let program = logs.stages.first(where: { !$0.command.isEmpty }) {
            throw ToolFailure(
                .configuration,
                "stage \(program.name) is a plugin program; cases can be exported from built-in stages only")
        }
        return try Chain(logs.file, stages: Set(logs.stages.map(\.name)), registry: .builtIns, seed: seed)
    }

    private func events(_ log: LogKind, in chain: Chain) -> [Chain.Event] {
        logs.stage(writing: log).map { chain.events(of: $0.logName) } ?? []
    }

    // MARK: Outcomes

    private func find(_ outcome: CaseOutcome, _ chain: Chain, _ accepted: [UInt64]) throws -> CaseResult {
        let pushes = events(.pushes, in: chain)
        for event in events(.outcomes, in: chain) {
            let found = try event.withJSON { json -> CaseOutcome? in
                guard let push = json[.push]?.int64, Int(push) <= pushes.count else { return nil }
                return try pushes[Int(push) - 1].withJSON { push in
                    CaseOutcome(json, push: push, ignoresBadge: ignoresBadge) { sequence in
                        sequence > 0 && sequence <= accepted.count ? accepted[Int(sequence) - 1] : nil
                    }
                }
            }
            guard let found else { continue }
            if found == outcome { return .outcome(found) }
            if found.shape() == outcome.shape(disguise.text) { return .outcome(outcome.withLength(of: found)) }
        }
        return .nothing
    }
}

// MARK: - Changes that were not pushed

extension CaseTrial {
    private func collect(
        _ line: CaseLine, _ event: LoggedEvent, _ change: UInt64, _ user: ExactText, _ device: ExactText?,
        _ chain: Chain, _ evidence: inout NotPushedEvidence
    ) throws {
        guard line.event.sequence < change else {
            guard line.event.sequence == change else { return }
            evidence.reasons = try reasons(line, event, user, chain)
            return
        }
        try event.withJSON { json in
            guard json[.user]?.equals(user.string) ?? false else { return }
            if json[.type]?.equals(EventName.subscriptionSave) ?? false {
                evidence.savedSubscriptions.append(CaseTrial.subscriptionName(json, idIn: json[.subscription]))
            } else if json[.type]?.equals(EventName.deviceRegister) ?? false {
                evidence.wasRegistered = evidence.wasRegistered || json[.device]?.exact == device
            }
        }
    }

    /// Explains the change with the members that ingest added when it recorded the change.
    private func reasons(
        _ line: CaseLine, _ event: LoggedEvent, _ user: ExactText, _ chain: Chain
    ) throws -> [ExactText] {
        let log = logs.stage(writing: .matches)?.logName ?? ""
        return try chain.explain(
            line.keepingDerived.command(disguise), sequence: event.sequence, at: event.now, by: log,
            for: ExplainedSubject(user: user.string)
        ).map { explanation in
            let name = ([.subscriptionID, .container, .environment, .database] as [Member]).map(\.description)
                .compactMap(explanation.detail)
            let codes = [explanation.code.rawValue] + explanation.parts.map(\.code.rawValue)
            return ExactText((name + codes).joined(separator: " "))
        }.sorted()
    }

    private func effects(
        of change: UInt64, _ user: ExactText, _ device: ExactText?, _ chain: Chain, _ accepted: [UInt64]
    ) throws -> [ExactText] {
        guard let index = accepted.firstIndex(of: change) else { return [] }
        let sequence = Int64(index + 1)
        let matches = try events(.matches, in: chain).compactMap { event in
            try event.withJSON { json -> ExactText? in
                json[.change]?.int64 == sequence && json[.user]?.equals(user.string) ?? false
                    ? ExactText("match \(CaseTrial.subscriptionName(json)) \(json[.reason]?.string ?? "")") : nil
            }
        }
        let outcomes = try events(.outcomes, in: chain).compactMap { event in
            try event.withJSON { json -> ExactText? in
                guard json[.user]?.equals(user.string) ?? false, device == nil || json[.device]?.exact == device,
                    json[.causes]?.elements.contains(where: { $0[.sequence]?.int64 == sequence }) ?? false
                else { return nil }
                return ExactText("outcome \(CaseOutcome.kind(of: json) ?? "")")
            }
        }
        return matches.sorted() + outcomes.sorted()
    }

    /// The database and ID of a subscription.
    ///
    /// - Parameter object: Contains the ID; nil if the event itself contains it.
    private static func subscriptionName(_ json: JSONValue, idIn object: JSONValue? = nil) -> ExactText {
        let id = (object ?? json)[.subscriptionID]?.string ?? ""
        let names = ["container", "environment", "database"].map { json.member($0)?.string ?? "" } + [id]
        return ExactText(names.joined(separator: " "))
    }
}

extension Chain.Event {
    fileprivate func withJSON<Result>(_ body: (JSONValue) throws -> Result) throws -> Result {
        try LoggedEvent(sequence: sequence, now: now, line: Array(text.utf8)).withJSON(body)
    }
}
