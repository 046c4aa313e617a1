import EventLog
import JSON
import PipelineKit
import PipelineRuntime
import ZeroMQ

/// Re-runs the stages of a pipeline over its logs and compares.
///
/// Each stage is fed what the log of the one before it holds, so that stages that are all identical make an identical
/// pipeline. Two run at a time: stages, or parts of their history that begin and end with a snapshot.
package struct PipelineReplay: Sendable {
    package struct StageResult: Sendable {
        package var stage: String
        package var log: String
        /// Events of its input that were fed, or of its log that were recalled.
        package var events: UInt64
        /// Input that the stage had not taken when the logs end.
        package var untaken: UInt64
        package var isSource: Bool
        /// Whether less than the whole log counts, or is there.
        package var isPartial: Bool
        package var compared = ComparedEvents()
        package var difference: ReplayDifference?

        package enum Verdict: String, Sendable {
            case identical, different
            /// Nothing of the log was in question.
            case nothing
            /// The log of a source is not compared with anything.
            case recalled
        }

        package var verdict: Verdict {
            if isSource { return .recalled }
            if difference != nil { return .different }
            return compared.count == 0 && (isPartial || events == 0) ? .nothing : .identical
        }

        /// The first difference counts, whichever span was done first.
        fileprivate mutating func add(_ span: SpanResult) {
            untaken += span.untaken
            compared.add(span.compared)
            guard let found = span.difference else { return }
            if found.sequence < difference?.sequence ?? .max { difference = found }
        }
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

    /// How much input is worth a span of its own.
    package var spanBytesMin = StageSpan.bytesMin

    private static let threads = 2

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

    /// Replays as long as anything is left.
    private func replay(_ plan: SpanPlan) throws -> [(Int, SpanResult)] {
        var results: [(Int, SpanResult)] = []
        do {
            while let course = plan.next() {
                let result = try replay(progress[course.history], course)
                if result.difference != nil { course.abandon() }
                results.append((course.history, result))
            }
        } catch {
            plan.stop()
            throw error
        }
        return results
    }

    /// Into how many spans each stage's history is cut.
    package func spanCounts() throws -> [String: Int] {
        Dictionary(uniqueKeysWithValues: try progress.map { ($0.stage, try spans(of: recorded($0)).count) })
    }

    private func emptyResult(_ stage: RecordedStage) throws -> StageResult {
        StageResult(
            stage: stage.name, log: stage.log.name, events: 0, untaken: 0, isSource: stage.isSource,
            isPartial: focus != nil || parts[stage.name] != nil || stage.isTrimmed)
    }

    private func recorded(_ progress: StageProgress) throws -> RecordedStage {
        guard let stage = recorded.stage(progress.stage) else {
            preconditionFailure("only its own stages are replayed")
        }
        return stage
    }

    /// A part of the history, or pushes that somebody watches, are replayed in one go; so is what has no snapshots.
    private func spans(of stage: RecordedStage) throws -> [StageSpan] {
        guard let upstream = stage.upstream, !stage.isTrimmed, parts[stage.name] == nil, watch == nil,
            focus == nil,
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

    private func replay(_ progress: StageProgress, _ course: SpanCourse) throws -> SpanResult {
        let stage = try recorded(progress)
        if stage.isSource {
            try recall(stage, progress)
            return SpanResult()
        }
        if let difference = stage.upstreamDifference { return SpanResult(difference: difference) }
        return try compare(stage, course, progress)
    }

    private func compare(_ stage: RecordedStage, _ course: SpanCourse, _ progress: StageProgress) throws
        -> SpanResult
    {
        let first = course.span.start
        let machine = try factory.machine(for: stage, after: first?.sequence ?? 0)
        machine.output.keepsDeliveries = watch != nil
        let part = parts[stage.name] ?? .all
        let start = try first.map { try restore(machine, $0, of: stage) } ?? start(machine, of: stage, part)
        let replay = try StageReplay(
            stage, machine, part: part, start: start, course: course, focus: focus, progress: progress)
        replay.watch = watch
        let difference = try replay.run { try snapshot($0, of: stage) }
        return SpanResult(difference: difference, untaken: replay.untaken, compared: replay.compared)
    }

    private func restore(_ machine: any StageMachine, _ header: SnapshotHeader, of stage: RecordedStage) throws
        -> StageStart
    {
        guard let machine = machine as? any RestorableMachine, let snapshot = try snapshot(header, of: stage) else {
            throw ReplayError.unreadable(stage.log.directory, "a snapshot went away while it was replayed")
        }
        try machine.restore(snapshot.state, header)
        return StageStart(header)
    }

    private func snapshot(_ header: SnapshotHeader, of stage: RecordedStage) throws -> Snapshot? {
        try SnapshotSearch(stage, factory.stageType(stage.stage))?.snapshot(header, problem: problem)
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

    /// A source's log is its input, and the input of the stages that read it. Alone it is read back as when the source
    /// starts; beside those stages they read it.
    private func recall(_ stage: RecordedStage, _ progress: StageProgress) throws {
        guard self.progress.count == 1 else {
            return progress.add(events: Int(stage.log.lastSequence), bytes: Int(stage.log.bytes))
        }
        let source = try SourceRecall(stage, factory)
        try source.run(progress)
    }
}

/// What became of one span.
private struct SpanResult: Sendable {
    var difference: ReplayDifference?
    var untaken: UInt64 = 0
    var compared = ComparedEvents()
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
