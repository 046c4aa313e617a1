import JSON
import PipelineKit
import PipelineRuntime

/// The change that a what-if makes to a recorded pipeline.
package struct WhatIfChange: Sendable {
    /// The pipeline with other settings. Its stages have the same names and kinds.
    package var file: PipelineFile
    /// The programs that replace stages, with their arguments, by stage name.
    package var programs: [String: [String]] = [:]
    /// Commands that replace the recorded ones about the same subscription or device; blank lines are skipped.
    package var commands: [String] = []

    package init(_ file: PipelineFile) { self.file = file }
}

/// Runs a recorded pipeline beside a changed one, and compares their pushes.
package struct WhatIf: Sendable {
    private let recorded: RecordedPipeline
    private let registry: Registry
    private let change: WhatIfChange
    /// The reason why the commands change nothing; nil if they can change something, or if there are no commands.
    private let reasonForNoEffect: String?
    package private(set) var progress = StageProgress(stage: "whatif", bytesTotal: 0)
    /// Called for each stage that begins with a snapshot because its first events are gone, and for commands that
    /// change nothing.
    package var notice: @Sendable (String) -> Void = { _ in }
    /// Compares only pushes about this subject; nil compares every push.
    package var focus: ReplayFocus?

    /// - Throws: ``ReplayError/unsupported(_:)`` when the changed file lacks a recorded stage, or gives it another kind
    ///   or upstream stage; ``ReplayError/badCommand(line:_:)`` for an invalid command.
    package init(_ recorded: RecordedPipeline, _ change: WhatIfChange, registry: Registry) throws {
        self.recorded = recorded
        self.change = change
        self.registry = registry
        for stage in recorded.stages {
            guard let other = change.file.stage(named: stage.name), other.from == stage.stage.from,
                other.kind == stage.stage.kind
            else {
                let upstream = stage.stage.from.map { "reads from \($0)" } ?? "is a source"
                throw ReplayError.unsupported(
                    "the changed pipeline has no stage \(stage.name) of kind \(stage.stage.kind) that \(upstream)")
            }
        }
        reasonForNoEffect =
            change.commands.isEmpty
            ? nil
            : try recorded.stages.first.flatMap { source in
                try InsertedCommands(change.commands, of: source, MachineFactory(registry: registry))
                    .reasonForNoEffect(through: source.log.lastNow)
            }
        let bytesTotal = roots.reduce(0) { $0 + ($1.upstream?.bytes ?? 0) }
        progress = StageProgress(stage: progress.stage, bytesTotal: bytesTotal)
    }

    package func run() throws -> WhatIfReport {
        for stage in recorded.stages { try stage.checkEnd() }
        if let reasonForNoEffect { notice("--with: \(reasonForNoEffect)") }
        let comparison = PushComparison(focus)
        for stage in roots {
            let lockstep = try lockstep(stage, comparison)
            try feed(lockstep, stage, try insertedCommands())
            try lockstep.finish()
        }
        return comparison.finish()
    }

    /// The first changed stage of each branch. All consumers of the source if no stage is changed, or if there are
    /// commands.
    private var roots: [RecordedStage] {
        let changed = recorded.stages.filter { !$0.isSource && isChanged($0) }
        guard change.commands.isEmpty, !changed.isEmpty else {
            return recorded.stages.first.map(recorded.consumers) ?? []
        }
        return changed.filter { stage in !ancestors(of: stage).contains { changed.map(\.name).contains($0) } }
    }

    private func ancestors(of stage: RecordedStage) -> [String] {
        guard let from = stage.stage.from, let upstream = recorded.stage(from) else { return [] }
        return [from] + ancestors(of: upstream)
    }

    private func isChanged(_ stage: RecordedStage) -> Bool {
        guard let other = change.file.stage(named: stage.name) else { return true }
        return change.programs[stage.name] != nil || other.command != stage.stage.command
            || hasOtherSettings(stage)
    }

    private func hasOtherSettings(_ stage: RecordedStage) -> Bool {
        change.file.stage(named: stage.name)?.settings.record() != stage.stage.settings.record()
    }

    /// - Parameter last: The last event of the upstream's log before the start of the upstream's own comparison. Nil
    ///   for each of the ``roots``, whose upstream is not compared.
    private func lockstep(_ stage: RecordedStage, _ comparison: PushComparison, after last: UInt64? = nil) throws
        -> LockstepStage
    {
        let (baseline, variant) = try machines(of: stage)
        let type = registry.stages[stage.stage.kind]
        let begin = LockstepStart(
            recorded: stage, baseline: baseline, variant: variant, search: type.flatMap { SnapshotSearch(stage, $0) })
        let start = try last.map(begin.following) ?? begin.first()
        if start.cursor > last ?? 0 {
            notice(
                "\(stage.name): the replay begins with the snapshot after input event \(start.cursor), "
                    + "because older events are gone")
        }
        return try LockstepStage(
            stage, baseline: baseline, variant: variant,
            consumers: try recorded.consumers(of: stage).map { try lockstep($0, comparison, after: start.sequence) },
            start: start, comparison: comparison)
    }

    private func machines(of stage: RecordedStage) throws -> (baseline: any StageMachine, variant: any StageMachine) {
        guard let other = change.file.stage(named: stage.name) else {
            preconditionFailure("the changed pipeline has no stage \(stage.name)")
        }
        let factory = MachineFactory(registry: registry)
        let answers = SharedAnswers.pair(try factory.answers(of: stage.stage, in: stage.log.directory))
        let history = try stage.settingsHistory()
        let baseline = try factory.machine(
            stage.stage, context: stage.context, answers: answers.baseline, history: history)
        let variant = try MachineFactory(registry: registry, programs: change.programs).machine(
            history.copyingSeals(to: registry.hidingSecrets(of: other)), context: stage.context,
            answers: answers.variant, history: hasOtherSettings(stage) ? nil : history)
        return (baseline, variant)
    }

    private func insertedCommands() throws -> InsertedCommands? {
        guard !change.commands.isEmpty, let source = recorded.stages.first else { return nil }
        return try InsertedCommands(change.commands, of: source, MachineFactory(registry: registry))
    }

    private func feed(_ lockstep: LockstepStage, _ stage: RecordedStage, _ commands: InsertedCommands?) throws {
        let feed = try UpstreamFeed(log: stage.upstream?.directory ?? "", from: lockstep.start.cursor + 1)
        while let run = try feed.nextRun(through: .max) {
            var sequence = run.first
            for line in Lines(run.lines) {
                try commands?.forEachDue(at: run.now) { command, now in
                    try lockstep.runStep(
                        baseline: nil, variant: LockstepEvent(sequence: sequence - 1, line: command), at: now)
                }
                let event = LockstepEvent(sequence: sequence, line: line)
                try lockstep.runStep(
                    baseline: event, variant: commands?.replaces(line) == true ? nil : event, at: run.now)
                sequence += 1
            }
            progress.add(events: run.count, bytes: run.lines.count)
        }
        try commands?.forEachDue(at: .distantFuture) { command, now in
            try lockstep.runStep(
                baseline: nil, variant: LockstepEvent(sequence: feed.next - 1, line: command), at: now)
        }
    }
}
