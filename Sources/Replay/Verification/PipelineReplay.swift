import EventLog
import JSON
import PipelineKit
import PipelineRuntime
import ZeroMQ

/// Re-runs the stages of a pipeline over its logs and compares.
///
/// Each stage is fed what the log of the one before it holds, so that stages that are all identical make an identical
/// pipeline. Two stages run at a time.
package struct PipelineReplay: Sendable {
    package struct StageResult: Sendable {
        package var stage: String
        package var log: String
        /// Events of its input that were fed, or of its log that were recalled.
        package var events: UInt64
        /// Input that the stage had not taken when the logs end.
        package var untaken: UInt64
        package var isSource: Bool
        package var difference: ReplayDifference?
    }

    package let recorded: RecordedPipeline
    private let factory: MachineFactory
    /// One for each stage that is re-run.
    package let progress: [StageProgress]
    package var watch: (any ReplayWatch)?
    /// Told of each snapshot that cannot be used.
    package var problem: @Sendable (String) -> Void = { _ in }
    /// Told of each stage that begins with a snapshot because the logs do not hold all.
    package var notice: @Sendable (String) -> Void = { _ in }
    /// What alone is compared; nil: everything.
    package var focus: ReplayFocus?
    private let parts: [String: StagePart]

    private static let stagesAtOnce = 2

    /// - Parameters:
    ///   - stages: Names of those to re-run; nil for all.
    ///   - parts: What counts of each stage's log, by its name; all where none is given.
    package init(
        _ recorded: RecordedPipeline, _ factory: MachineFactory, stages: [String]? = nil,
        parts: [String: StagePart] = [:]
    ) {
        self.recorded = recorded
        self.factory = factory
        self.parts = parts
        progress = recorded.stages.filter { stages?.contains($0.name) ?? true }.map {
            StageProgress(stage: $0.name, bytesTotal: $0.log.bytes + ($0.upstream?.bytes ?? 0))
        }
    }

    /// - Returns: What became of each stage, in their order.
    package func run() async throws -> [StageResult] {
        try await withThrowingTaskGroup(of: (Int, StageResult).self) { group in
            var results: [Int: StageResult] = [:]
            var waiting = Array(progress.enumerated())[...]
            func start() {
                guard let (index, progress) = waiting.popFirst() else { return }
                group.addTask {
                    (index, try await SocketThread.run(name: "replay") { try replay(progress) })
                }
            }
            for _ in 0..<PipelineReplay.stagesAtOnce { start() }
            while let (index, result) = try await group.next() {
                results[index] = result
                start()
            }
            return results.sorted { $0.key < $1.key }.map(\.value)
        }
    }

    private func replay(_ progress: StageProgress) throws -> StageResult {
        guard let stage = recorded.stage(progress.stage) else {
            preconditionFailure("only its own stages are replayed")
        }
        var result = StageResult(
            stage: stage.name, log: stage.log.name, events: 0, untaken: 0, isSource: stage.isSource)
        if stage.isSource {
            try recall(stage, progress)
        } else if let difference = stage.upstreamDifference {
            result.difference = difference
        } else {
            try compare(stage, progress, &result)
        }
        result.events = progress.events
        return result
    }

    private func compare(_ stage: RecordedStage, _ progress: StageProgress, _ result: inout StageResult) throws {
        let machine = try factory.machine(for: stage)
        machine.output.keepsDeliveries = watch != nil
        let part = parts[stage.name] ?? .all
        let start = try start(machine, of: stage, part)
        let replay = try StageReplay(
            stage, machine, part: part, start: start, focus: focus, progress: progress)
        replay.watch = watch
        result.difference = try replay.run()
        result.untaken = replay.untaken
    }

    /// The newest snapshot before the part that counts; the oldest of all where the logs' beginning is gone.
    private func start(_ machine: any StageMachine, of stage: RecordedStage, _ part: StagePart) throws -> StageStart {
        guard stage.isTrimmed || part.first > 1 else { return .beginning }
        let type = factory.registry.stages[stage.stage.kind]
        if let type, let machine = machine as? any RestorableMachine, let search = SnapshotSearch(stage, type) {
            let start = try search.restore(
                machine, where: { stage.covers($0) && $0.sequence < part.first }, problem: problem)
            if start != .beginning { return start }
            if stage.isTrimmed { return try oldest(search, machine, of: stage) }
        }
        try stage.checkBeginning()
        return .beginning
    }

    private func oldest(_ search: SnapshotSearch, _ machine: any RestorableMachine, of stage: RecordedStage) throws
        -> StageStart
    {
        for header in try search.headers(where: stage.covers) {
            let start = try search.restore(machine, where: { $0 == header }, problem: problem)
            if start == .beginning { continue }
            notice("\(stage.name): from the snapshot at \(start.cursor): older events are gone")
            return start
        }
        try stage.checkBeginning()
        return .beginning
    }

    /// A source's log is its input: it is read back as when the source starts.
    private func recall(_ stage: RecordedStage, _ progress: StageProgress) throws {
        let source = try SourceRecall(stage, factory)
        try source.run(progress)
    }
}

extension RecordedStage {
    /// That the stage's log was made from another log than the one that lies there.
    var upstreamDifference: ReplayDifference? {
        guard let noted = notedUpstream, let upstream, noted != upstream.identity else { return nil }
        return ReplayDifference(
            stage: name, log: log.name, sequence: 0, recorded: "{\"upstream\":\"\(noted)\"}",
            replayed: "{\"upstream\":\"\(upstream.identity)\"}", cause: .unknown)
    }
}
