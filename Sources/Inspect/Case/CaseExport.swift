import EventLog
import Events
import JSON
import PipelineKit
import StageTool
import Time

/// The smallest slice of a pipeline's inputs that still leads to an outcome, with everybody's texts replaced.
package struct CaseExport {
    private let logs: RecordedLogs
    private let finder: any EventFinder
    private let seed: String

    /// - Parameter seed: What a run of the case has, where the pipeline file names none.
    package init(logs: RecordedLogs, finder: any EventFinder, seed: String) {
        (self.logs, self.finder, self.seed) = (logs, finder, logs.file.seed ?? seed)
    }

    /// A case, ready to be written.
    package struct Case {
        /// Commands of ingest, one JSON object a line.
        package let text: String
        package let kept: Int
        /// All changes in the log.
        package let all: UInt64
        /// What `belfry run` gives for it.
        package let expectation: String
        /// What its reader should know.
        package let notes: [String]
        let lines: [CaseLine]
        let trial: CaseTrial
        let result: CaseResult
    }

    private static let disguisesMax: UInt64 = 4

    /// - Throws: ``ToolFailure`` with 1 where today's rules do not give the outcome again, 66 where there is none.
    package func make(_ target: CaseTarget) throws -> Case {
        var notes: [String] = []
        let start =
            switch target {
            case .outcome(let sequence): try outcome(sequence, &notes)
            case .notPushed(let change, let user, let device): try silence(change, user, device)
            }
        let (lines, result) = try slice(start, &notes)
        let shrunk = try shrink(lines, start.trial, result)
        return try disguised(shrunk, start.trial, result, notes)
    }

    // MARK: Where to begin

    /// What is looked for, and the inputs to look among.
    private struct Start {
        var trial: CaseTrial
        var candidates: CaseCandidates
        /// What the log says; nil where it is to be found out.
        let recorded: CaseResult?
        let change: UInt64
        let moment: Instant
        /// What is wrong with a result, by the log; nil where nothing is.
        var isRecorded: (CaseResult) -> Bool
    }

    private func outcome(_ sequence: UInt64, _ notes: inout [String]) throws -> Start {
        guard let log = logs.existingLog(.outcomes), let pushes = logs.existingLog(.pushes),
            let event = try LogScan.event(sequence, in: log), try isFirst(event),
            let number = try event.withJSON({ $0[.push]?.int64 }),
            let push = try LogScan.event(UInt64(clamping: number), in: pushes)
        else { throw ToolFailure(.noInput, "there is no outcome \(sequence), or its push is gone") }
        let (user, causes) = try event.withJSON { ($0[.user]?.exact ?? "", $0.causes) }
        guard let change = causes.last else { throw ToolFailure(.badData, "outcome \(sequence) names no change") }
        var candidates = CaseCandidates(logs: logs, finder: finder)
        try candidates.add(stateOf: user, until: push.now)
        for cause in causes { try candidates.add(change: cause) }
        let badge = try push.withJSON { $0[.payload]?["aps"]?[.badge]?.int64 }
        if badge != nil { try candidates.add(badgesOf: user, before: push.sequence) }
        let ignoresBadge = candidates.hasTooManyBadges
        if ignoresBadge { notes.append("the badge will differ: too many changes raised it") }
        try noteAnswer(event, &notes)
        let wanted = try event.withJSON { json in
            try push.withJSON { CaseOutcome(json, push: $0, ignoresBadge: ignoresBadge) { $0 } }
        }
        guard let wanted else { throw ToolFailure(.badData, "outcome \(sequence) is not whole") }
        let trial = CaseTrial(logs: logs, seed: seed, wanted: .outcome(wanted), ignoresBadge: ignoresBadge)
        return Start(
            trial: trial, candidates: candidates, recorded: .outcome(wanted), change: change, moment: push.now,
            isRecorded: { $0 == .outcome(wanted) })
    }

    /// - Throws: ``ToolFailure`` for a redrive's: what made the push is the case, and it is looked for by its first.
    private func isFirst(_ outcome: LoggedEvent) throws -> Bool {
        guard let former = try outcome.withJSON({ $0[.redriveOf].flatMap(EventPlace.init) }) else { return true }
        throw ToolFailure(
            .usage,
            "outcome \(outcome.sequence) is of a redrive: `belfry trace \(former)` shows the first, to be exported")
    }

    private func noteAnswer(_ event: LoggedEvent, _ notes: inout [String]) throws {
        try event.withJSON { json in
            guard CaseOutcome.kind(of: json) == "accepted", json[.outcome]?.equals("accepted") == false else { return }
            let answer = RecordedOutcome(json, sequence: event.sequence).explanation.text
            notes.append("\(answer); a run asks no transport and shows the push instead")
        }
    }

    private func silence(_ sequence: UInt64, _ user: ExactText, _ device: ExactText?) throws -> Start {
        let change = try ExplainedChange(sequence, in: logs)
        guard change.isRecord else {
            throw ToolFailure(.usage, "change \(sequence) is a \(change.type): there is nothing to show again")
        }
        let flows = try RecordedFlows(of: change, user: user, subscriptionID: nil, in: logs).flows
        let moment = flows.compactMap(\.pushed).max() ?? change.event.now
        var candidates = CaseCandidates(logs: logs, finder: finder)
        try candidates.add(stateOf: user, until: moment)
        try candidates.add(change: sequence)
        try candidates.add(spendersOf: user, before: sequence)
        for cause in flows.flatMap(\.causes) { try candidates.add(change: cause) }
        // Subscriptions that share a notification share its outcomes.
        let outcomes = Dictionary(flows.flatMap(\.outcomes).map { ($0.sequence, $0) }) { first, _ in first }.values
        let effects =
            try flows.map { try $0.effect() }.sorted()
            + outcomes.filter { $0.isFinal && !$0.isRedrive && (device == nil || $0.device == device) }.map(\.effect)
            .sorted()
        let trial = CaseTrial(
            logs: logs, seed: seed, wanted: .silence(change: sequence, user: user, device: device))
        return Start(
            trial: trial, candidates: candidates, recorded: nil, change: sequence, moment: moment,
            isRecorded: { result in
                guard case .silence(let silence) = result else { return false }
                return silence.effects == effects
            })
    }
}

// MARK: - Finding a slice

extension CaseExport {
    /// The first of ever larger slices that gives the recorded outcome.
    private func slice(_ start: Start, _ notes: inout [String]) throws -> ([CaseLine], CaseResult) {
        if let found = try tried(start.candidates.lines, start) { return found }
        var larger = start.candidates
        try larger.addAll(before: start.change, until: start.moment)
        if let found = try tried(larger.lines, start) {
            notes.append("what the outcome names was not enough: cut from all that happened shortly before")
            return found
        }
        throw ToolFailure(
            .no,
            "the outcome does not come again from \(larger.lines.count.of("input")): the rules or settings have changed "
                + "since, a stage was behind, or it goes back further; nothing was written")
    }

    /// Without what ingest found out, where that gives the same; else with it.
    private func tried(_ lines: [CaseLine], _ start: Start) throws -> ([CaseLine], CaseResult)? {
        let kept = lines.map(\.whole)
        let whole = try start.trial.result(of: kept)
        let plain = try start.trial.result(of: lines)
        if start.isRecorded(plain), start.recorded != nil || plain == whole { return (lines, plain) }
        return start.isRecorded(whole) ? (kept, whole) : nil
    }

    private func shrink(_ lines: [CaseLine], _ trial: CaseTrial, _ result: CaseResult) throws -> [CaseLine] {
        let shrinking = CaseShrinking<CaseLine> { try trial.result(of: $0) == result }
        var kept = try shrinking.shrink(lines)
        guard kept.contains(where: \.keepsDerived) else { return kept }
        for index in kept.indices {
            kept[index].keepsDerived = false
            if try trial.result(of: kept) != result { kept[index].keepsDerived = true }
        }
        return try shrinking.shrink(kept)
    }

    // MARK: Replacing texts

    private func disguised(
        _ lines: [CaseLine], _ trial: CaseTrial, _ result: CaseResult, _ notes: [String]
    ) throws -> Case {
        // Also of what ingest found out and the case leaves out: the reasons of a silence are found with it.
        let texts = try DisguisedTexts(of: lines.map(\.whole))
        let areSearched = try lines.contains { try $0.searchesWords() }
        let summary = try EventLogs.summary(directory: logs.log(of: logs.path[0]))
        for attempt in 0..<CaseExport.disguisesMax {
            let seed = summary.identity.high ^ summary.identity.low &+ attempt &+ (lines.last?.event.sequence ?? 0)
            let disguise = texts.disguise(byWord: areSearched, seed: seed)
            var trial = trial
            trial.disguise = disguise
            guard try trial.result(of: lines) == result else { continue }
            let commands = try lines.map { try $0.command(disguise) }
            return Case(
                text: commands.map { $0 + "\n" }.joined(), kept: lines.count,
                all: summary.lastSequence + 1 - summary.firstSequence,
                expectation: expectation(result, trial.wanted, disguise.text), notes: notes, lines: lines,
                trial: trial, result: result)
        }
        throw ToolFailure(
            .no,
            "the case does not survive that its texts are replaced; nothing was written, so that nobody's are shown")
    }

    private func expectation(
        _ result: CaseResult, _ wanted: CaseTrial.Wanted, _ replace: (String) -> String
    ) -> String {
        switch (result, wanted) {
        case (.outcome(let outcome), _):
            let device = outcome.device.map { replace($0.string) + " of " } ?? ""
            let target = device + replace(outcome.user.string)
            let pruned = outcome.payload.isPruned ? ", pruned" : ""
            return switch outcome.kind {
            case "accepted":
                "a push to \(target), with a payload of \(outcome.payload.bytes) bytes\(pruned)"
            case "no_device": "no push to \(target), who has no device: outcome no_device"
            default: "no push to \(target): outcome \(outcome.kind)"
            }
        case (_, .silence(_, let user, let device)):
            let target = (device.map { replace($0.string) + " of " } ?? "") + replace(user.string)
            return "for the last change, to \(target), what the log has: "
                + "`belfry explain` on the run's logs says why"
        default: return ""
        }
    }
}

extension RecordedFlow {
    /// As ``CaseSilence/effects`` has it.
    fileprivate func effect() throws -> ExactText {
        let reason = try match.withJSON { $0[.reason]?.string ?? "" }
        return ExactText("match \(place.map(\.string).joined(separator: " ")) \(subscriptionID) \(reason)")
    }
}

extension RecordedOutcome {
    private var wasAsked: Bool { explanation.details.contains { $0.name == "attempts" } }

    fileprivate var effect: ExactText {
        switch explanation.code {
        case .transportAccepted, .transportFailed, .transportUnregistered, .deviceUnregistered, .pushSuperseded:
            "outcome accepted"
        case .pushExpired: "outcome \(wasAsked ? "accepted" : "expired")"
        case .originExcluded: "outcome excluded_origin"
        case .transportUnknown: "outcome unknown_transport"
        default: "outcome no_device"
        }
    }
}
