import EventLog
import Events
import JSON
import PipelineKit
import StageTool
import Time

/// Exports a case: a minimal set of inputs that still gives a recorded result. The result is either one outcome, or the
/// fact that one change was not pushed to a user. The export begins with a larger set of inputs. If the change was not
/// pushed, the minimal set must also give the same reasons as the larger set. Pseudonyms replace personal strings.
package struct CaseExport {
    private var logs: RecordedLogs
    private let finder: any EventFinder
    private let seed: String

    /// - Parameter seed: The seed of the runs that try inputs, unless the pipeline file has a seed.
    package init(logs: RecordedLogs, finder: any EventFinder, seed: String) {
        (self.logs, self.finder, self.seed) = (logs, finder, logs.file.seed ?? seed)
    }

    package struct Case {
        /// Ingest commands, one JSON object a line.
        package let text: String
        /// How many inputs the case contains.
        package let inputCount: Int
        /// How many events the changes log contains.
        package let eventCount: UInt64
        /// The result of `belfry run` on the case, in words.
        package let expectation: String
        /// Notes for the reader of the case.
        package let notes: [String]
        let lines: [CaseLine]
        let trial: CaseTrial
        let result: CaseResult
    }

    private static let disguisesMax: UInt64 = 4

    /// - Throws: ``ToolFailure`` with 1 if the inputs no longer lead to the recorded result, or lead to it only without
    ///   pseudonyms; with 66 if there is no such outcome, push or change; with 64 if the outcome belongs to a redrive
    ///   or the change is not a change of a record; with 65 if the outcome or its push lacks a member; with 78 if a
    ///   stage is a plugin program. `EventLogError` if a log cannot be read.
    package func make(_ target: CaseTarget) throws -> Case {
        var export = self
        switch target {
        case .outcome(_, let log): export.logs = logs.inLane(ofLog: log)
        case .notPushed(let change, let user, _):
            export.logs = try logs.inLane(of: user, for: ExplainedChange(change, in: logs))
        }
        return try export.makeInLane(target)
    }

    private func makeInLane(_ target: CaseTarget) throws -> Case {
        var notes: [String] = []
        let start =
            switch target {
            case .outcome(let sequence, _): try start(forOutcome: sequence, &notes)
            case .notPushed(let change, let user, let device):
                try start(forChange: change, notPushedTo: user, device)
            }
        let (lines, result) = try slice(start, &notes)
        let shrunk = try shrink(lines, start.trial, result)
        return try disguised(shrunk, start.trial, result, notes)
    }

    // MARK: The first set of inputs

    private struct Start {
        var trial: CaseTrial
        var candidates: CaseCandidates
        /// The result according to the log; nil if only a run of the inputs shows it.
        let recorded: CaseResult?
        let change: UInt64
        let moment: Instant
        /// Whether a result agrees with the log.
        var isRecorded: (CaseResult) -> Bool
    }

    private func start(forOutcome sequence: UInt64, _ notes: inout [String]) throws -> Start {
        guard let log = logs.existingLog(.outcomes), let pushes = logs.existingLog(.pushes),
            let event = try LogScan.event(sequence, in: log), try isOriginal(event),
            let number = try event.withJSON({ $0[.push]?.int64 }),
            let push = try LogScan.event(UInt64(clamping: number), in: pushes)
        else { throw ToolFailure(.noInput, "there is no outcome \(sequence), or its push is no longer in the log") }
        let (user, causes) = try event.withJSON { ($0[.user]?.exact ?? "", $0.causes) }
        guard let change = causes.last else { throw ToolFailure(.badData, "outcome \(sequence) names no change") }
        var candidates = CaseCandidates(logs: logs, finder: finder)
        try candidates.add(stateOf: user, until: push.now)
        for cause in causes { try candidates.add(change: cause) }
        let badge = try push.withJSON { $0[.payload]?["aps"]?[.badge]?.int64 }
        if badge != nil { try candidates.add(badgesOf: user, before: push.sequence) }
        let ignoresBadge = candidates.hasTooManyBadgeChanges
        if ignoresBadge {
            notes.append(
                "the badge will differ from the recorded one: the changes that raised it are too many for the case")
        }
        try noteAnswer(event, &notes)
        let wanted = try event.withJSON { json in
            try push.withJSON { CaseOutcome(json, push: $0, ignoresBadge: ignoresBadge) { $0 } }
        }
        guard let wanted else {
            throw ToolFailure(
                .badData,
                "outcome \(sequence) lacks the member user or outcome, or its push lacks causes, notificationID, "
                    + "payload or headers; a case needs all these members")
        }
        let trial = CaseTrial(logs: logs.withoutLanes, seed: seed, wanted: .outcome(wanted), ignoresBadge: ignoresBadge)
        return Start(
            trial: trial, candidates: candidates, recorded: .outcome(wanted), change: change, moment: push.now,
            isRecorded: { $0 == .outcome(wanted) })
    }

    /// Returns true for the outcome of an original push.
    ///
    /// - Throws: ``ToolFailure`` for the outcome of a redrive.
    private func isOriginal(_ outcome: LoggedEvent) throws -> Bool {
        guard let original = try outcome.withJSON({ $0[.redriveOf].flatMap(EventPlace.init) }) else { return true }
        throw ToolFailure(
            .usage,
            "outcome \(outcome.sequence) belongs to a redrive; export the original push's outcome instead: "
                + "`belfry trace \(original)` shows it")
    }

    private func noteAnswer(_ event: LoggedEvent, _ notes: inout [String]) throws {
        try event.withJSON { json in
            guard CaseOutcome.kind(of: json) == "accepted", json[.outcome]?.equals("accepted") == false else { return }
            let answer = RecordedOutcome(json, sequence: event.sequence).explanation.text
            notes.append("\(answer); a run uses no transport, so it prints the push instead")
        }
    }

    private func start(
        forChange sequence: UInt64, notPushedTo user: ExactText, _ device: ExactText?
    ) throws -> Start {
        let change = try ExplainedChange(sequence, in: logs)
        guard change.isRecord else {
            throw ToolFailure(
                .usage, "change \(sequence) is a \(change.type), which is never pushed: nothing to export")
        }
        let flows = try RecordedFlows(of: change, user: user, subscriptionID: nil, in: logs).flows
        let moment = flows.compactMap(\.pushedAt).max() ?? change.event.now
        var candidates = CaseCandidates(logs: logs, finder: finder)
        try candidates.add(stateOf: user, until: moment)
        try candidates.add(change: sequence)
        try candidates.add(firesOnceUsesOf: user, before: sequence)
        for cause in flows.flatMap(\.causes) { try candidates.add(change: cause) }
        // Subscriptions that share a notification also share its outcomes, so each outcome counts only once.
        let outcomes = Dictionary(flows.flatMap(\.outcomes).map { ($0.sequence, $0) }) { first, _ in first }.values
        let effects =
            try flows.map { try $0.effect() }.sorted()
            + outcomes.filter { $0.isFinal && !$0.isRedrive && (device == nil || $0.device == device) }.map(\.effect)
            .sorted()
        let trial = CaseTrial(
            logs: logs.withoutLanes, seed: seed, wanted: .notPushed(change: sequence, user: user, device: device))
        return Start(
            trial: trial, candidates: candidates, recorded: nil, change: sequence, moment: moment,
            isRecorded: { result in
                guard case .notPushed(let evidence) = result else { return false }
                return evidence.effects == effects
            })
    }
}

// MARK: - Finding a slice

extension CaseExport {
    private func slice(_ start: Start, _ notes: inout [String]) throws -> ([CaseLine], CaseResult) {
        if let found = try tried(start.candidates.lines, start) { return found }
        var larger = start.candidates
        try larger.addAll(before: start.change, until: start.moment)
        if let found = try tried(larger.lines, start) {
            notes.append("the related inputs were not enough: the case was made from all inputs near the change")
            return found
        }
        throw ToolFailure(
            .no,
            "\(larger.lines.count.of("input")) cannot repeat the recorded result: the rules or settings have changed "
                + "since, a stage had fallen behind, or older inputs are needed; nothing was written")
    }

    /// Tries the inputs with and without the members that ingest added, and prefers the inputs without them. Returns
    /// nil if neither attempt gives the recorded result.
    private func tried(_ lines: [CaseLine], _ start: Start) throws -> ([CaseLine], CaseResult)? {
        let whole = lines.map(\.keepingDerived)
        let wholeResult = try start.trial.result(of: whole)
        let plainResult = try start.trial.result(of: lines)
        if start.isRecorded(plainResult), start.recorded != nil || plainResult == wholeResult {
            return (lines, plainResult)
        }
        return start.isRecorded(wholeResult) ? (whole, wholeResult) : nil
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
        // Includes the members that ingest added, because the trial of a change that was not pushed needs them.
        let texts = try DisguisedTexts(of: lines.map(\.keepingDerived))
        let byWord = try lines.contains { try $0.searchesWords() }
        let summary = try EventLogs.summary(directory: logs.log(of: logs.stages[0]))
        for attempt in 0..<CaseExport.disguisesMax {
            let seed = summary.identity.high ^ summary.identity.low &+ attempt &+ (lines.last?.event.sequence ?? 0)
            let disguise = texts.disguise(byWord: byWord, seed: seed)
            var trial = trial
            trial.disguise = disguise
            guard try trial.result(of: lines) == result else { continue }
            let commands = try lines.map { try $0.command(disguise) }
            return Case(
                text: commands.map { $0 + "\n" }.joined(), inputCount: lines.count,
                eventCount: summary.lastSequence + 1 - summary.firstSequence,
                expectation: expectation(result, trial.wanted, disguise.text), notes: notes, lines: lines,
                trial: trial, result: result)
        }
        throw ToolFailure(
            .no,
            "with pseudonyms in place of people's texts, the inputs no longer lead to the recorded result; nothing was "
                + "written")
    }

    private func expectation(
        _ result: CaseResult, _ wanted: CaseTrial.WantedResult, _ replace: (String) -> String
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
        case (_, .notPushed(_, let user, let device)):
            let target = (device.map { replace($0.string) + " of " } ?? "") + replace(user.string)
            return
                "the last change is not pushed to \(target), as recorded: `belfry explain` on the run's logs says why"
        default: return ""
        }
    }
}

extension RecordedFlow {
    /// The match's entry in ``NotPushedEvidence/effects``.
    fileprivate func effect() throws -> ExactText {
        let reason = try match.withJSON { $0[.reason]?.string ?? "" }
        return ExactText("match \(databasePath.map(\.string).joined(separator: " ")) \(subscriptionID) \(reason)")
    }
}

extension RecordedOutcome {
    private var wasAttempted: Bool { explanation.details.contains { $0.name == "attempts" } }

    fileprivate var effect: ExactText {
        switch explanation.code {
        case .transportAccepted, .transportFailed, .transportUnregistered, .deviceUnregistered, .pushSuperseded:
            "outcome accepted"
        case .pushExpired: "outcome \(wasAttempted ? "accepted" : "expired")"
        case .originExcluded: "outcome excluded_origin"
        case .transportUnknown: "outcome unknown_transport"
        default: "outcome no_device"
        }
    }
}
