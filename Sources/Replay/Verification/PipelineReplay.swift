import EventLog
import JSON
import PipelineKit
import PipelineRuntime
import ZeroMQ

/// Re-runs the stages of a pipeline over its logs and compares their outputs with the logs.
///
/// Each stage is fed the recorded log of its upstream stage. So the replay of the pipeline is identical if the replay
/// of each stage is identical. Two threads share the work. A thread gets the whole history of a stage, or some spans of
/// it. A span begins at the beginning of the logs or at a snapshot, and ends at a snapshot or at the end of the logs.
package struct PipelineReplay: Sendable {
    package struct StageResult: Sendable {
        package var stage: String
        package var log: String
        /// Input events that were fed; for a source, the events of its log.
        package var events: UInt64
        /// Input events that the stage had not processed at the end of its log.
        package var unprocessed: UInt64
        package var isSource: Bool
        /// Whether only a part of the log was compared, or the beginning of the log or of the stage's input is gone.
        package var isPartial: Bool
        package var compared = ComparedEvents()
        package var difference: ReplayDifference?

        package enum Verdict: String, Sendable {
            case identical, different
            /// Nothing was compared: the part to compare has no events, or the stage has had no input.
            case nothing
            /// A source's log is not compared.
            case recalled
        }

        package var verdict: Verdict {
            if isSource { return .recalled }
            if difference != nil { return .different }
            return compared.count == 0 && (isPartial || events == 0) ? .nothing : .identical
        }

        /// Adds the result of a span. Spans finish in any order, so the result keeps the difference with the lowest
        /// sequence.
        fileprivate mutating func add(_ span: SpanResult) {
            unprocessed += span.unprocessed
            compared.add(span.compared)
            guard let found = span.difference else { return }
            if found.sequence < difference?.sequence ?? .max { difference = found }
        }
    }

    package let recorded: RecordedPipeline
    private let factory: MachineFactory
    /// The progress of each stage that is re-run.
    package let progress: [StageProgress]
    package var watch: (any ReplayWatch)?
    /// Called for each unusable snapshot.
    package var problem: @Sendable (String) -> Void = { _ in }
    /// Called for each stage that begins with a snapshot because its first events are gone.
    package var notice: @Sendable (String) -> Void = { _ in }
    /// Compares only events about this subject; nil compares everything.
    package var focus: ReplayFocus?
    private let parts: [String: StagePart]

    /// A stage's history is cut only into spans whose input has at least this many bytes on average.
    package var spanBytesMin = StageSpan.bytesMin

    private static let threads = 2

    /// - Parameters:
    ///   - stages: Names of the stages to re-run; nil for all.
    ///   - parts: Which part of each stage's log to compare, by stage name; a missing name means the whole log.
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

    /// - Returns: One result for each stage, in pipeline order.
    package func run() async throws -> [StageResult] {
        for progress in progress { try recorded(progress).checkEnd() }
        var results = try progress.map { try emptyResult(recorded($0)) }
        let plan = SpanPlan(try progress.map { (try spans(of: recorded($0)), $0.bytesTotal) })
        try await withThrowingTaskGroup(of: [(Int, SpanResult)].self) { group in
            for _ in 0..<PipelineReplay.threads {
                group.addTask { try await SocketThread.run(name: "replay") { try replay(plan) } }
            }
            for try await done in group {
                for (index, span) in done { results[index].add(span) }
            }
        }
        for index in progress.indices { results[index].events = progress[index].events }
        return results
    }

    /// Replays spans until the plan has no more.
    private func replay(_ plan: SpanPlan) throws -> [(Int, SpanResult)] {
        var results: [(Int, SpanResult)] = []
        do {
            while let series = plan.next() {
                let result = try replay(progress[series.history], series)
                if result.difference != nil { series.abandon() }
                results.append((series.history, result))
            }
        } catch {
            plan.stop()
            throw error
        }
        return results
    }

    /// How many spans each stage's history has, by stage name.
    package func spanCounts() throws -> [String: Int] {
        Dictionary(uniqueKeysWithValues: try progress.map { ($0.stage, try spans(of: recorded($0)).count) })
    }

    private func emptyResult(_ stage: RecordedStage) throws -> StageResult {
        StageResult(
            stage: stage.name, log: stage.log.name, events: 0, unprocessed: 0, isSource: stage.isSource,
            isPartial: focus != nil || parts[stage.name] != nil || stage.isTrimmed)
    }

    private func recorded(_ progress: StageProgress) throws -> RecordedStage {
        guard let stage = recorded.stage(progress.stage) else {
            preconditionFailure("stage \(progress.stage) is not in the recorded pipeline")
        }
        return stage
    }

    /// Cuts the history of a built-in stage into spans. The history is one span if its beginning is gone, if only a
    /// part is replayed, if there is a watch or a focus, if there are no snapshots, or if the input is too small to
    /// cut. A source, a plugin and a stage that a program replaces have one span, too.
    private func spans(of stage: RecordedStage) throws -> [StageSpan] {
        guard let upstream = stage.upstream, !stage.isTrimmed, parts[stage.name] == nil, watch == nil, focus == nil,
            stage.stage.command.isEmpty, factory.programs[stage.name] == nil,
            let search = try SnapshotSearch(stage, factory.stageType(stage.stage))
        else { return [.whole] }
        var headers = try search.headers()
        while true {
            let spans = StageSpan.spans(
                of: headers, inputLast: upstream.lastSequence, bytes: upstream.bytes,
                stateBytes: try search.largestBytes(), bytesMin: spanBytesMin)
            let unreadable = try spans.compactMap(\.end).filter { try search.snapshot($0, problem: problem) == nil }
            if unreadable.isEmpty { return spans }
            headers.removeAll { unreadable.contains($0) }
        }
    }

    private func replay(_ progress: StageProgress, _ series: SpanSeries) throws -> SpanResult {
        let stage = try recorded(progress)
        if stage.isSource {
            try recall(stage, progress)
            return SpanResult()
        }
        if let difference = stage.upstreamDifference { return SpanResult(difference: difference) }
        return try compare(stage, series, progress)
    }

    private func compare(_ stage: RecordedStage, _ series: SpanSeries, _ progress: StageProgress) throws
        -> SpanResult
    {
        let first = series.span.start
        let machine = try factory.machine(for: stage, after: first?.sequence ?? 0)
        machine.output.keepsDeliveries = watch != nil
        let part = parts[stage.name] ?? .all
        let start = try first.map { try restore(machine, $0, of: stage) } ?? start(machine, of: stage, part)
        let replay = try StageReplay(
            stage, machine, part: part, start: start, series: series, focus: focus, progress: progress)
        replay.watch = watch
        let difference = try replay.run { try snapshot($0, of: stage) }
        return SpanResult(difference: difference, unprocessed: replay.unprocessed, compared: replay.compared)
    }

    private func restore(_ machine: any StageMachine, _ header: SnapshotHeader, of stage: RecordedStage) throws
        -> StageStart
    {
        guard let machine = machine as? any RestorableMachine, let snapshot = try snapshot(header, of: stage) else {
            throw ReplayError.snapshotDeleted(log: stage.log.directory, at: header.position)
        }
        try machine.restore(snapshot.state, header)
        return StageStart(header)
    }

    private func snapshot(_ header: SnapshotHeader, of stage: RecordedStage) throws -> Snapshot? {
        try SnapshotSearch(stage, factory.stageType(stage.stage))?.snapshot(header, problem: problem)
    }

    /// Restores the newest snapshot before the part to compare. If there is no such snapshot, and if the logs'
    /// beginning is gone, restores the oldest snapshot. Otherwise the machine stays at the beginning.
    private func start(_ machine: any StageMachine, of stage: RecordedStage, _ part: StagePart) throws -> StageStart {
        guard stage.isTrimmed || part.first > 1 else { return .beginning }
        let type = factory.registry.stages[stage.stage.kind]
        if let type, let machine = machine as? any RestorableMachine, let search = SnapshotSearch(stage, type) {
            let start = try search.restore(
                machine, where: { stage.covers($0) && $0.sequence < part.first }, problem: problem)
            if start != .beginning || !stage.isTrimmed { return start }
            let oldest = try search.restoreOldest([machine], of: stage, problem: problem)
            if oldest != .beginning {
                let beginning = "the replay begins with the snapshot after input event \(oldest.cursor)"
                notice("\(stage.name): \(beginning), because older events are gone")
            }
            return oldest
        }
        try stage.checkBeginning()
        return .beginning
    }

    /// Reads a source's log back, as at a restart of the source. If other stages are replayed too, only counts the
    /// log's events and bytes.
    private func recall(_ stage: RecordedStage, _ progress: StageProgress) throws {
        guard self.progress.count == 1 else {
            return progress.add(
                events: Int(stage.log.lastSequence + 1 - stage.log.firstSequence), bytes: Int(stage.log.bytes))
        }
        let machine = try MachineFactory(registry: factory.registry).machine(
            stage.stage, context: stage.context, answers: AcceptedAnswers())
        guard let machine = machine as? any StatefulMachine else {
            throw ReplayError.unsupported("the source \(stage.name) is a program, and cannot be replayed alone")
        }
        let reader = try EventLogReader(directory: stage.log.directory, from: .beginning)
        while let batch = try reader.next(), !progress.isCancelled {
            machine.recall(batch.body, first: batch.header.firstSequence, at: batch.header.now)
            machine.output.removeAll()
            progress.add(events: batch.header.count, bytes: batch.body.count)
        }
    }
}

private struct SpanResult: Sendable {
    var difference: ReplayDifference?
    var unprocessed: UInt64 = 0
    var compared = ComparedEvents()
}

extension RecordedStage {
    /// The difference to report when the stage's log was made from another upstream log than the one in the folder.
    fileprivate var upstreamDifference: ReplayDifference? {
        guard let noted = notedUpstream, let upstream, noted != upstream.identity else { return nil }
        return ReplayDifference(
            stage: name, log: log.name, sequence: 0, recorded: "{\"upstream\":\"\(noted)\"}",
            replayed: "{\"upstream\":\"\(upstream.identity)\"}", cause: .unknown)
    }
}
