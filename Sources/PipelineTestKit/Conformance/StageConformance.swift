import JSON
import PipelineKit
import Time

/// Checks whether a stage follows the rules that hosts and replays rely on.
///
///     let check = try StageConformance(UpperCaseStage.self, registry: registry)
///     #expect(check.problems() == [])
///
/// The stage is fed with sample events from all of Belfry's logs, or with the given events. A stage that traps ends the
/// process; `belfry conformance` therefore checks each rule in a process of its own.
public struct StageConformance: Sendable {
    private let attempt: @Sendable (ConformanceRule) throws -> Void
    private let run: @Sendable () throws -> [String]

    /// - Parameters:
    ///   - settings: The stage's settings, as in a pipeline file.
    ///   - events: The events to feed, one JSON object each. If nil, a source gets sample commands, and any other stage
    ///     gets sample events from all of Belfry's logs.
    ///   - registry: The plugins for the settings, and the stages that make the samples.
    /// - Throws: ``PipelineKit/PipelineFileError`` or ``PipelineKit/SettingsError`` if the settings are invalid. An
    ///   error if `registry` lacks a stage that makes the samples.
    public init<S: Stage>(
        _ stage: S.Type, settings: String = "{}", events: [String]? = nil, registry: Registry
    ) throws {
        let settings = try SettingsReader(text: settings, file: "settings").decode(S.Settings.self)
        let samples =
            try events.map(SampleEvents.given) ?? (S.isSource ? SampleEvents.commands() : SampleEvents.logged(registry))
        let stage = TestedStage<S>(settings: settings, samples: samples, registry: registry)
        _ = try stage.fresh()
        attempt = { try stage.attempt($0) }
        run = { try stage.drive().outputs }
    }

    /// The result for each rule.
    public func results() -> [ConformanceResult] { ConformanceRule.ofStages.map(result) }

    /// The result for one rule.
    public func result(_ rule: ConformanceRule) -> ConformanceResult {
        ConformanceResult(rule) {
            do { try attempt(rule) } catch let wakes as WakesWithoutEnd {
                guard rule != .deadlines, isBroken(.deadlines) else { throw wakes }
                throw RuleNotTestable("the stage's wakes do not end: \(wakes)")
            }
        }
    }

    private func isBroken(_ rule: ConformanceRule) -> Bool {
        do { try attempt(rule) } catch { return true }
        return false
    }

    /// The broken rules, each with what the check observed.
    public func problems() -> [String] { results().compactMap(\.problem) }

    /// The stage's outputs. They must be the same in another process, where hash tables have another order.
    package func outputs() throws -> [String] { try run() }
}

/// A kind of stage with its settings and samples.
private struct TestedStage<S: Stage>: Sendable {
    let settings: S.Settings
    let samples: [SampleEvent]
    let registry: Registry

    /// - Parameter past: The stage's own earlier outputs, which it may read again.
    func fresh(_ past: PastInMemory = PastInMemory()) throws -> S {
        let own = S.writes?.rawValue ?? S.kind
        let log = LogIdentity(seed: "conformance", name: own)
        let upstream = S.isSource ? log : LogIdentity(seed: "conformance", name: "upstream")
        let name = S.isSource ? own : "upstream"
        var context = StageContext(log: log, upstream: upstream, upstreamName: name, registry: registry)
        context.past = past
        return try S(settings, context: context)
    }

    private func driver(batch: Int = 1, partBytes: Int = Outbox.partBytes) throws -> StageDriver<S> {
        let past = PastInMemory()
        return StageDriver(try fresh(past), past: past, batch: batch, partBytes: partBytes)
    }

    func attempt(_ rule: ConformanceRule) throws {
        switch rule {
        case .json: try checkJSON()
        case .repeats: try checkRepeats()
        case .cuts: try checkCuts()
        case .causes: try checkCauses()
        case .unknown: try checkUnknown()
        case .odd: try checkOdd()
        case .deadlines: _ = try drive()
        case .snapshots: try checkSnapshots()
        case .recalls: try checkRecalls()
        default: throw RuleNotTestable("a rule for programs")
        }
    }

    /// Feeds all samples to a new stage.
    func drive(batch: Int = 1, partBytes: Int = Outbox.partBytes) throws -> StageDriver<S> {
        let drive = try driver(batch: batch, partBytes: partBytes)
        for sample in samples { try drive.receive(sample) }
        try drive.wake(through: .distantFuture)
        return drive
    }

    private func checkJSON() throws {
        var outputs = OutputCheck()
        for step in try drive().steps { for line in step.lines { try outputs.check(line) } }
        guard S.stateName != nil else { return }
        var state = ByteBuffer()
        try drive().clock.stage.writeState(into: &state)
        for line in state.text.split(separator: "\n") { try outputs.check(String(line)) }
    }

    private func checkRepeats() throws {
        let (one, other) = (try drive().outputs, try drive().outputs)
        if let found = OutputDifference.text(one, other, ("the first time", "the second time")) {
            throw RuleViolation(found)
        }
    }

    /// Skips the rule if two runs with the same events have different outputs, because the rule compares runs.
    private func checkThatItRepeats() throws {
        guard try drive().outputs != drive().outputs else { return }
        throw RuleNotTestable("a second run with the same events did not give the same output")
    }

    private func checkCuts() throws {
        try checkThatItRepeats()
        let single = try drive().outputs
        for batch in [3, samples.count] {
            let found = OutputDifference.text(
                single, try drive(batch: batch).outputs, ("in batches of 1", "in batches of \(batch)"))
            if let found { throw RuleViolation(found) }
        }
        let parts = OutputDifference.text(single, try drive(partBytes: 1).outputs, ("in one part", "in small parts"))
        if let parts { throw RuleViolation(parts) }
    }

    private func checkCauses() throws {
        let idle = try driver()
        try idle.wake(through: .distantFuture)
        if let first = idle.outputs.first {
            throw RuleViolation("there is output before the first input: \(first.excerpt)")
        }
        guard !S.isSource else { return }
        var check = OutputCheck()
        let drive = try driver()
        try check.checkCauses(of: samples) { index in
            let before = drive.steps.count
            try drive.receive(samples[index])
            return drive.steps[before...].flatMap(\.lines)
        }
    }

    private func checkUnknown() throws {
        let drive = try drive()
        let passesOn =
            S.isSource
            || drive.steps.contains { step in
                guard let sequence = step.sequence else { return false }
                return step.lines.contains(samples[Int(sequence) - 1].line)
            }
        for (index, line) in SampleEvents.unknown.enumerated() {
            let before = drive.steps.count
            let time =
                drive.clock.now == .distantFuture ? drive.clock.now : drive.clock.now.advanced(by: .milliseconds(1))
            try drive.receive(SampleEvent(time: time, line: line))
            let steps = drive.steps[before...].filter { $0.sequence != nil }
            let isPassed = steps.contains { $0.lines.contains(line) }
            let isRejected = steps.contains { !$0.rejections.isEmpty }
            if isPassed || isRejected || !passesOn { continue }
            throw RuleViolation(
                "unknown event \(index + 1) is neither passed on nor set aside, so later stages never get it: \(line.excerpt)"
            )
        }
    }

    private func checkOdd() throws {
        let drive = try drive()
        var outputs = OutputCheck()
        let isJSON = outputs.areJSON(drive.steps.flatMap(\.lines))
        for odd in SampleEvents.odd(samples) {
            let before = drive.steps.count
            try drive.receive(SampleEvent(time: drive.clock.now, line: odd.line))
            // If outputs for normal events are not JSON either, the odd event is not the cause.
            if isJSON { for output in drive.steps[before...].flatMap(\.lines) { try outputs.check(output) } }
        }
        try drive.wake(through: .distantFuture)
    }

    // MARK: State

    private func checkSnapshots() throws {
        guard S.snapshotVersion != nil else {
            throw RuleNotTestable("the stage has no snapshots, so it is rebuilt from its whole input")
        }
        try checkThatItRepeats()
        let whole = try drive().steps
        for cut in 0...samples.count {
            let first = try driver()
            for sample in samples[..<cut] { try first.receive(sample) }
            let state = first.snapshot()
            let second = try restored(state, at: first, after: cut)
            guard second.snapshot() == state else {
                throw RuleViolation(
                    "a stage restored from the snapshot after event \(cut) makes a different snapshot: a part of the "
                        + "state is lost or changed")
            }
            for sample in samples[cut...] { try second.receive(sample) }
            try second.wake(through: .distantFuture)
            let names = ("without a restart", "from a snapshot after event \(cut)")
            let expected = whole.dropFirst(first.steps.count).flatMap(\.outputs)
            if let found = OutputDifference.text(expected, second.outputs, names) { throw RuleViolation(found) }
        }
        try checkShortSnapshots()
    }

    private func restored(_ state: [UInt8], at drive: StageDriver<S>, after cut: Int) throws -> StageDriver<S> {
        var stage = try fresh(drive.past)
        var reader = SnapshotReader(state.span.bytes)
        do throws(SnapshotError) { try stage.restore(from: &reader) } catch {
            throw RuleViolation("the stage refuses its own snapshot after event \(cut): \(error)")
        }
        if !reader.isAtEnd { throw RuleViolation("the stage does not read all of its own snapshot after event \(cut)") }
        return StageDriver(
            stage, past: drive.past, now: drive.clock.now, sequence: drive.sequence, written: drive.eventCount)
    }

    /// Restores incomplete snapshots. A stage may accept or refuse an incomplete snapshot, but must not crash.
    private func checkShortSnapshots() throws {
        let drive = try driver()
        for sample in samples { try drive.receive(sample) }
        let state = drive.snapshot()
        for count in stride(from: 0, to: state.count, by: max(1, state.count / 200)) {
            let part = state[..<count]
            var stage = try fresh()
            var reader = SnapshotReader(part.span.bytes)
            do throws(SnapshotError) { try stage.restore(from: &reader) } catch { continue }
        }
    }

    private func checkRecalls() throws {
        guard S.isSource else { throw RuleNotTestable("the stage is not a source") }
        try checkThatItRepeats()
        let whole = try drive().steps
        for cut in stride(from: 0, through: samples.count, by: 3) {
            let first = try driver()
            for sample in samples[..<cut] { try first.receive(sample) }
            let second = StageDriver(
                try fresh(first.past), past: first.past, now: first.clock.now, sequence: UInt64(cut))
            for (index, line) in first.steps.flatMap(\.lines).enumerated() {
                second.recall(line, sequence: UInt64(index) + 1, at: first.clock.now)
            }
            for sample in samples[cut...] { try second.receive(sample) }
            try second.wake(through: .distantFuture)
            let names = ("without a restart", "after reading back the log of the first \(cut) events")
            let expected = whole.dropFirst(first.steps.count).flatMap(\.outputs)
            if let found = OutputDifference.text(expected, second.outputs, names) { throw RuleViolation(found) }
        }
    }
}
