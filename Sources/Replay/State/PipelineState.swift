import EventLog
import JSON
import PipelineKit
import PipelineRuntime
import Time

/// Rebuilds the states that a pipeline's stages had at a moment.
///
/// Each state starts from the stage's newest snapshot before the moment, and is fed the logged events after the
/// snapshot.
package struct PipelineState: Sendable {
    let recorded: RecordedPipeline
    private let factory: MachineFactory
    private let problem: @Sendable (String) -> Void

    /// - Parameter problem: Called for each unusable snapshot.
    package init(
        _ recorded: RecordedPipeline, _ factory: MachineFactory,
        problem: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.recorded = recorded
        self.factory = factory
        self.problem = problem
    }

    /// The names of the states that the stages have, in stage order.
    package var names: [String] {
        recorded.stages.flatMap { names(of: $0) }.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// The state `name` of every stage that has it, one JSON object a line; nil when no stage has it.
    package func lines(_ name: String, at position: PipelinePosition) throws -> String? {
        let stages = recorded.stages.filter { names(of: $0).contains(name) }
        guard !stages.isEmpty else { return nil }
        var lines = ByteBuffer()
        for stage in stages {
            try machine(of: stage, at: try target(of: stage, position)).0.writeState(name, into: &lines)
        }
        return lines.text
    }

    /// The findings of the check `check` in every stage that has it, at the end of the logs.
    package func findings(_ check: String) throws -> [StageFinding] {
        try recorded.stages.flatMap { stage in
            let type = stage.stage.command.isEmpty ? factory.registry.stages[stage.stage.kind] : nil
            guard type?.checkName == check else { return [StageFinding]() }
            return try machine(of: stage, at: .end).0.findings(of: stage.name)
        }
    }

    private func names(of stage: RecordedStage) -> [String] {
        guard let type = factory.registry.stages[stage.stage.kind] else { return [] }
        return [type.stateName].compactMap(\.self) + type.otherStateNames
    }

    private func target(of stage: RecordedStage, _ position: PipelinePosition) throws -> StageTarget {
        switch position {
        case .time(let time): .time(time)
        case .end: .end
        case .sequence(let sequence): .input(try input(of: stage, atChange: sequence))
        }
    }

    /// The last event in a stage's input at the moment just after the event `sequence` of the source.
    private func input(of stage: RecordedStage, atChange sequence: UInt64) throws -> UInt64 {
        guard let upstream = recorded.stages.first(where: { $0.name == stage.stage.from }) else { return sequence }
        let last = try input(of: upstream, atChange: sequence)
        guard !upstream.isSource else { return last }
        guard upstream.stage.command.isEmpty else { return try Self.output(of: upstream, through: last) }
        return try machine(of: upstream, at: .input(last)).1
    }

    /// The last event of a plugin's log at the moment when the plugin had answered the input event `last`. The log's
    /// cursors tell this moment.
    private static func output(of stage: RecordedStage, through last: UInt64) throws -> UInt64 {
        let reader = try EventLogReader(directory: stage.log.directory, from: .beginning)
        var (cursor, sequence): (UInt64, UInt64) = (0, 0)
        while let header = try reader.nextHeader() {
            cursor = header.cursor.positions[stage.context.upstreamName] ?? cursor
            guard cursor <= last else { break }
            sequence = header.count > 0 ? header.lastSequence : sequence
        }
        return sequence
    }

    /// - Returns: A machine with the stage's state at the moment, and the last event of the stage's own log by then.
    ///   For a source, this event is 0.
    func machine(of stage: RecordedStage, at target: StageTarget) throws -> (any StatefulMachine, UInt64) {
        guard let machine = try factory.machine(for: stage) as? any StatefulMachine else {
            throw ReplayError.unsupported("stage \(stage.name) is a program, and only the program can show its state")
        }
        let search = try SnapshotSearch(stage, factory.stageType(stage.stage))
        let start = try search?.restore(machine, where: { isWanted($0, target) }, problem: problem) ?? .beginning
        try checkInput(of: stage, after: start)
        if stage.isSource {
            try recall(stage, machine, after: start.cursor, to: target)
            return (machine, 0)
        }
        var approach = try StageApproach(stage, machine, start: start)
        try approach.run(to: target)
        return (machine, approach.sequence)
    }

    private func checkInput(of stage: RecordedStage, after start: StageStart) throws(ReplayError) {
        let upstream = stage.upstream ?? stage.log
        guard upstream.firstSequence <= start.cursor + 1 else {
            throw .trimmed(log: upstream.name, first: upstream.firstSequence)
        }
    }

    private func isWanted(_ header: SnapshotHeader, _ target: StageTarget) -> Bool {
        switch target {
        // A snapshot that includes the last event may also include later wakes.
        case .input(let last): header.position < last
        case .time(let time): header.now <= time
        case .end: true
        }
    }

    private func recall(
        _ stage: RecordedStage, _ machine: any StatefulMachine, after start: UInt64, to target: StageTarget
    ) throws {
        let feed = try UpstreamFeed(log: stage.log.directory, from: start + 1)
        let last = if case .input(let last) = target { last } else { UInt64.max }
        let time = if case .time(let time) = target { time } else { Instant.distantFuture }
        while let run = try feed.nextRun(through: last, until: time) {
            machine.recall(run.lines, first: run.first, at: run.now)
            machine.output.removeAll()
        }
    }
}
