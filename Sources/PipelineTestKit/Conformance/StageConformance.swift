import JSON
import PipelineKit
import Time

/// Tries whether a stage keeps to what hosts and replays rely on.
///
///     let check = try StageConformance(UpperCaseStage.self)
///     #expect(check.problems() == [])
///
/// The stage is fed events of every type that the logs of a pipeline hold, or those that are given. A stage that traps
/// ends the process that tries it; `belfry conformance` tries each rule in a process of its own.
public struct StageConformance: Sendable {
    private let attempt: @Sendable (ConformanceRule) throws -> Void
    private let course: @Sendable () throws -> [String]

    /// - Parameters:
    ///   - settings: The stage's, as a pipeline file has them.
    ///   - events: What it is fed, one JSON object each; nil: samples of all that Belfry's logs hold, or for a source what
    ///     ingest takes.
    ///   - registry: What its settings may choose from, and the stages that make samples.
    /// - Throws: ``PipelineKit/PipelineFileError``, ``PipelineKit/SettingsError`` where the settings are refused.
    public init<S: Stage>(
        _ stage: S.Type, settings: String = "{}", events: [String]? = nil, registry: Registry
    ) throws {
        let settings = try SettingsReader(text: settings, file: "settings").decode(S.Settings.self)
        let samples =
            try events.map(SampleEvents.own) ?? (S.isSource ? SampleEvents.commands() : SampleEvents.logged(registry))
        let tried = TriedStage<S>(settings: settings, samples: samples, registry: registry)
        _ = try tried.fresh()
        attempt = { try tried.attempt($0) }
        course = { try tried.drive().said }
    }

    /// What became of each rule.
    public func results() -> [ConformanceResult] { ConformanceRule.ofStages.map(result) }

    /// What became of one rule.
    public func result(_ rule: ConformanceRule) -> ConformanceResult { ConformanceResult(rule) { try attempt(rule) } }

    /// What is wrong, each beginning with the rule that is broken; nothing where all is well.
    public func problems() -> [String] { results().compactMap(\.problem) }

    /// All that the stage says to the events. Another process must get the same: no two order their hash tables alike.
    package func said() throws -> [String] { try course() }
}

/// One kind of stage with its settings, and what it is fed.
private struct TriedStage<S: Stage>: Sendable {
    let settings: S.Settings
    let samples: [SampleEvent]
    let registry: Registry

    func fresh() throws -> S {
        let own = S.writes?.rawValue ?? S.kind
        let log = LogIdentity(seed: "conformance", name: own)
        let upstream = S.isSource ? log : LogIdentity(seed: "conformance", name: "upstream")
        let name = S.isSource ? own : "upstream"
        return try S(
            settings, context: StageContext(log: log, upstream: upstream, upstreamName: name, registry: registry))
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
        default: throw NothingToTry("a rule of programs")
        }
    }

    /// Feeds all samples to a new stage.
    func drive(batch: Int = 1, partBytes: Int = Outbox.partBytes) throws -> StageDrive<S> {
        let drive = StageDrive(try fresh(), batch: batch, partBytes: partBytes)
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
        let (one, other) = (try drive().said, try drive().said)
        if let found = OutputDifference.text(one, other, ("the first time", "the second time")) { throw Breach(found) }
    }

    /// What two courses of the same events show is worth something only where one and the same course repeats itself.
    private func checkThatItRepeats() throws {
        guard try drive().said != drive().said else { return }
        throw NothingToTry("the same events give something else each time")
    }

    private func checkCuts() throws {
        try checkThatItRepeats()
        let single = try drive().said
        for batch in [3, samples.count] {
            let found = OutputDifference.text(
                single, try drive(batch: batch).said, ("in batches of 1", "in batches of \(batch)"))
            if let found { throw Breach(found) }
        }
        let parts = OutputDifference.text(single, try drive(partBytes: 1).said, ("in one part", "in small parts"))
        if let parts { throw Breach(parts) }
    }

    private func checkCauses() throws {
        let idle = StageDrive(try fresh())
        try idle.wake(through: .distantFuture)
        if let first = idle.said.first { throw Breach("before any input there is the output \(first.excerpt)") }
        guard !S.isSource else { return }
        var outputs = OutputCheck()
        var known: Set<UInt64> = []
        let drive = StageDrive(try fresh())
        for sample in samples {
            known.formUnion(outputs.causes(of: sample.line))
            known.insert(drive.sequence + 1)
            let before = drive.steps.count
            try drive.receive(sample)
            for line in drive.steps[before...].flatMap(\.lines) {
                guard let strange = outputs.causes(of: line).subtracting(known).min() else { continue }
                throw Breach("an output names \(strange), which no input was or named: \(line.excerpt)")
            }
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
            throw Breach(
                "unknown event \(index + 1) is neither passed on nor set aside, so the stages behind never get it: \(line.excerpt)"
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
            // Where outputs are never JSON, odd events are not to blame.
            if isJSON { for output in drive.steps[before...].flatMap(\.lines) { try outputs.check(output) } }
        }
        try drive.wake(through: .distantFuture)
    }

    // MARK: State

    private func checkSnapshots() throws {
        guard S.snapshotVersion != nil else {
            throw NothingToTry("the stage takes no snapshots, so it is rebuilt from all of its input")
        }
        try checkThatItRepeats()
        let whole = try drive().steps
        for cut in 0...samples.count {
            let first = StageDrive(try fresh())
            for sample in samples[..<cut] { try first.receive(sample) }
            let state = first.snapshot()
            let second = try restored(state, at: first, behind: cut)
            guard second.snapshot() == state else {
                throw Breach(
                    "the state behind event \(cut) is another when it was taken over: the snapshot lacks something")
            }
            for sample in samples[cut...] { try second.receive(sample) }
            try second.wake(through: .distantFuture)
            let names = ("without a restart", "from a snapshot behind event \(cut)")
            let expected = whole.dropFirst(first.steps.count).flatMap(\.said)
            if let found = OutputDifference.text(expected, second.said, names) { throw Breach(found) }
        }
        try checkShortSnapshots()
    }

    private func restored(_ state: [UInt8], at drive: StageDrive<S>, behind cut: Int) throws -> StageDrive<S> {
        var stage = try fresh()
        var reader = SnapshotReader(state.span.bytes)
        do throws(SnapshotError) { try stage.restore(from: &reader) } catch {
            throw Breach("its own snapshot behind event \(cut) is refused: \(error)")
        }
        if !reader.isAtEnd { throw Breach("of its own snapshot behind event \(cut) the stage reads only a part") }
        return StageDrive(stage, now: drive.clock.now, sequence: drive.sequence)
    }

    /// What is not a whole snapshot is refused, or taken; it is never the end of the process.
    private func checkShortSnapshots() throws {
        let drive = StageDrive(try fresh())
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
        guard S.isSource else { throw NothingToTry("the stage is no source") }
        try checkThatItRepeats()
        let whole = try drive().steps
        for cut in stride(from: 0, through: samples.count, by: 3) {
            let first = StageDrive(try fresh())
            for sample in samples[..<cut] { try first.receive(sample) }
            let second = StageDrive(try fresh(), now: first.clock.now, sequence: UInt64(cut))
            for (index, line) in first.steps.flatMap(\.lines).enumerated() {
                second.recall(line, sequence: UInt64(index) + 1, at: first.clock.now)
            }
            for sample in samples[cut...] { try second.receive(sample) }
            try second.wake(through: .distantFuture)
            let names = ("without a restart", "after the log of the first \(cut) was read back")
            let expected = whole.dropFirst(first.steps.count).flatMap(\.said)
            if let found = OutputDifference.text(expected, second.said, names) { throw Breach(found) }
        }
    }
}
