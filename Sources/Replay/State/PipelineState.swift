import EventLog
import JSON
import PipelineKit
import PipelineRuntime
import Time

/// What the stages of a pipeline knew at a moment.
///
/// Each state is that of its stage's newest snapshot before the moment, brought on by what the logs hold after it.
package struct PipelineState: Sendable {
    let recorded: RecordedPipeline
    private let factory: MachineFactory
    private let problem: @Sendable (String) -> Void

    /// - Parameter problem: Told of each snapshot that cannot be used.
    package init(
        _ recorded: RecordedPipeline, _ factory: MachineFactory,
        problem: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.recorded = recorded
        self.factory = factory
        self.problem = problem
    }

    /// The names that states can be asked for, in the order of their stages.
    package var names: [String] {
        recorded.stages.flatMap { names(of: $0) }.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// One JSON object a line, as the stages show it that have a state of that name, in their order; nil where none has.
    package func lines(_ name: String, at position: PipelinePosition) throws -> String? {
        let stages = recorded.stages.filter { names(of: $0).contains(name) }
        guard !stages.isEmpty else { return nil }
        var lines = ByteBuffer()
        for stage in stages {
            try machine(of: stage, at: try target(of: stage, position)).0.writeState(name, into: &lines)
        }
        return lines.text
    }

    /// The findings of the stages that have a check of that name, at the end of their logs.
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

    /// How much of a stage's input there was when an event of the source had just passed.
    private func input(of stage: RecordedStage, atChange sequence: UInt64) throws -> UInt64 {
        guard let upstream = recorded.stages.first(where: { $0.name == stage.stage.from }) else { return sequence }
        let last = try input(of: upstream, atChange: sequence)
        guard !upstream.isSource else { return last }
        guard upstream.stage.command.isEmpty else { return try Self.output(of: upstream, through: last) }
        return try machine(of: upstream, at: .input(last)).1
    }

    /// How far the log of a plugin, whose state is its own, had come when it had answered that much.
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

    func machine(of stage: RecordedStage, at target: StageTarget) throws -> (any StatefulMachine, UInt64) {
        guard let machine = try factory.machine(for: stage) as? any StatefulMachine else {
            throw ReplayError.unsupported("stage \(stage.name) is a program, whose state is its own")
        }
        let search = try SnapshotSearch(stage, factory.stageType(stage.stage))
        let start = try search?.restore(machine, where: { isWanted($0, target) }, problem: problem) ?? .beginning
        try check(stage, start)
        if stage.isSource {
            try recall(stage, machine, after: start.cursor, to: target)
            return (machine, 0)
        }
        var approach = try StageApproach(stage, machine, start: start)
        try approach.run(to: target)
        return (machine, approach.sequence)
    }

    private func check(_ stage: RecordedStage, _ start: StageStart) throws(ReplayError) {
        let upstream = stage.upstream ?? stage.log
        guard upstream.firstSequence <= start.cursor + 1 else {
            throw .trimmed(log: upstream.name, first: upstream.firstSequence)
        }
    }

    /// A snapshot that includes the last event may include what time did after it.
    private func isWanted(_ header: SnapshotHeader, _ target: StageTarget) -> Bool {
        switch target {
        case .input(let last): header.position < last
        case .time(let time): header.now <= time
        case .end: true
        }
    }

    private func recall(
        _ stage: RecordedStage, _ machine: any StatefulMachine, after start: UInt64, to target: StageTarget
    ) throws {
        let feed = try UpstreamFeed(log: stage.log.directory, from: start + 1)
        let (last, time) = bounds(of: target)
        while let run = try feed.run(through: last, until: time) {
            machine.recall(run.lines, first: run.first, at: run.now)
            machine.output.removeAll()
        }
    }

    private func bounds(of target: StageTarget) -> (last: UInt64, time: Instant) {
        switch target {
        case .input(let last): (last, .distantFuture)
        case .time(let time): (.max, time)
        case .end: (.max, .distantFuture)
        }
    }
}
