import BuiltIns
import EventLog
import Events
import JSON
import PipelineKit
import Replay
import StageTool

/// Runs inputs through the pipeline and looks for what a case is to show.
struct CaseTrial {
    enum Wanted {
        case outcome(CaseOutcome)
        case silence(change: UInt64, user: ExactText, device: ExactText?)
    }

    let logs: RecordedLogs
    let seed: String
    let wanted: Wanted
    var ignoresBadge = false
    var disguise = Disguise()

    /// The inputs are in the order of the log; ``CaseOutcome/change`` and the like speak of its sequences.
    func result(of lines: [CaseLine]) throws -> CaseResult {
        let chain = try chain()
        var taken: [UInt64] = []
        var silence = CaseSilence()
        for line in lines {
            let command = try line.command(disguise)
            if case .silence(let change, let user, let device) = wanted {
                try note(
                    line, change, user.map(disguise.text), device?.map(disguise.text), chain, UInt64(taken.count + 1),
                    command,
                    &silence)
            }
            if try chain.send(command, at: line.event.now) { taken.append(line.event.sequence) }
        }
        try chain.finish()
        switch wanted {
        case .outcome(let outcome): return try find(outcome, chain, taken)
        case .silence(let change, let user, let device):
            silence.effects = try effects(of: change, user.map(disguise.text), device?.map(disguise.text), chain, taken)
            silence.saved = Set(silence.saved).sorted()
            return taken.contains(change) ? .silence(silence) : .nothing
        }
    }

    /// The stages that a change goes through, from the beginning.
    private func chain() throws -> Chain {
        if let program = logs.path.first(where: { !$0.command.isEmpty }) {
            throw ToolFailure(
                .configuration,
                "stage \(program.name) is a program of its own; a case is cut from pipelines of built-in stages only")
        }
        return try Chain(logs.file, stages: Set(logs.path.map(\.name)), registry: .builtIns, seed: seed)
    }

    private func events(_ log: LogKind, in chain: Chain) -> [Chain.Event] {
        logs.stage(writing: log).map { chain.events(of: $0.logName) } ?? []
    }

    // MARK: Outcomes

    private func find(_ outcome: CaseOutcome, _ chain: Chain, _ taken: [UInt64]) throws -> CaseResult {
        let pushes = events(.pushes, in: chain)
        for event in events(.outcomes, in: chain) {
            let found = try event.withJSON { json -> CaseOutcome? in
                guard let push = json[.push]?.int64, Int(push) <= pushes.count else { return nil }
                return try pushes[Int(push) - 1].withJSON { push in
                    CaseOutcome(json, push: push, ignoresBadge: ignoresBadge) { original(of: $0, taken) }
                }
            }
            guard let found else { continue }
            if found == outcome { return .outcome(found) }
            if found.shape() == outcome.shape(disguise.text) { return .outcome(outcome.written(as: found)) }
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
        _ line: CaseLine, _ change: UInt64, _ user: ExactText, _ device: ExactText?, _ chain: Chain, _ sequence: UInt64,
        _ command: String, _ silence: inout CaseSilence
    ) throws {
        let event = LoggedEvent(sequence: sequence, now: line.event.now, line: Array(command.utf8))
        guard line.event.sequence < change else {
            guard line.event.sequence == change else { return }
            silence.reasons = try reasons(line, event, user, chain)
            return
        }
        try event.withJSON { json in
            guard json[.user]?.equals(user.string) ?? false else { return }
            if json[.type]?.equals(EventName.subscriptionSave) ?? false {
                silence.saved.append(CaseTrial.name(json, json[.subscription]))
            } else if json[.type]?.equals(EventName.deviceRegister) ?? false {
                silence.wasRegistered = silence.wasRegistered || json[.device]?.exact == device
            }
        }
    }

    /// The change as ingest would pass it on: explained from what ingest found out when it was recorded.
    private func reasons(
        _ line: CaseLine, _ event: LoggedEvent, _ user: ExactText, _ chain: Chain
    ) throws -> [ExactText] {
        let log = logs.stage(writing: .matches)?.logName ?? ""
        return try chain.explain(
            line.whole.command(disguise), sequence: event.sequence, at: event.now, by: log,
            for: ExplainedSubject(user: user.string)
        ).map { told in
            let name = ([.subscriptionID, .container, .environment, .database] as [Member]).map(\.description)
                .compactMap(told.detail)
            return ExactText((name + [told.code.rawValue] + told.parts.map(\.code.rawValue)).joined(separator: " "))
        }.sorted()
    }

    private func effects(
        of change: UInt64, _ user: ExactText, _ device: ExactText?, _ chain: Chain, _ taken: [UInt64]
    ) throws -> [ExactText] {
        guard let index = taken.firstIndex(of: change) else { return [] }
        let sequence = Int64(index + 1)
        let matches = try events(.matches, in: chain).compactMap { event in
            try event.withJSON { json -> ExactText? in
                json[.change]?.int64 == sequence && json[.user]?.equals(user.string) ?? false
                    ? ExactText("match \(CaseTrial.name(json, nil)) \(json[.reason]?.string ?? "")") : nil
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

    private static func name(_ json: JSONValue, _ holder: JSONValue?) -> ExactText {
        let id = (holder ?? json)[.subscriptionID]?.string ?? ""
        let names = ["container", "environment", "database"].map { json.member($0)?.string ?? "" } + [id]
        return ExactText(names.joined(separator: " "))
    }
}

extension Chain.Event {
    fileprivate func withJSON<Result>(_ body: (JSONValue) throws -> Result) throws -> Result {
        try LoggedEvent(sequence: sequence, now: now, line: Array(text.utf8)).withJSON(body)
    }
}
