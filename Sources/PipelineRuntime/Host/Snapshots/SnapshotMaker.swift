import EventLog
import PipelineKit
import Time

/// Makes a stage's state a second time, beside the running stage and on any thread: from its newest snapshot and the
/// logs. Stages are deterministic, so it is the same state.
struct SnapshotMaker<S: Stage>: Sendable {
    private let plan: HostPlan
    private let past: SettingsTimeline<S>
    private let context: StageContext

    /// Nil where the log that the stage reads is not on this machine.
    ///
    /// - Parameter past: With the settings that the stage runs with.
    init?(_ plan: HostPlan, _ past: SettingsTimeline<S>, _ context: StageContext) {
        (self.plan, self.past, self.context) = (plan, past, context)
        guard S.isSource || hasInput else { return nil }
    }

    private var hasInput: Bool {
        guard let directory = plan.inputLog else { return false }
        do throws(EventLogError) { return try EventLogs.identity(directory: directory) == context.upstream } catch {
            return false
        }
    }

    /// - Parameters:
    ///   - moment: One at which the stage was in the middle of nothing.
    ///   - check: Called now and then; what it throws ends it all.
    ///   - disk: The pace at which the last snapshot is read.
    func state(
        at moment: SnapshotMoment, check: @escaping () throws -> Void, disk: DiskPace = DiskPace()
    ) throws -> SnapshotWriter {
        // What it throws is thrown again by the next check that may.
        let progress = { do { try check() } catch {} }
        let search = SnapshotSearch<S>(plan, context, past, lastSequence: moment.sequence, disk: disk)
        var start = search?.newest(notAfter: moment, progress: progress)
        try check()
        var clock = S.isSource ? try recalled(&start, moment, check) : try rebuilt(&start, moment, check)
        var out = Outbox()
        clock.advance(to: moment.now, into: &out)
        guard clock.now == moment.now, out.isEmpty else { throw SnapshotMakerError.otherTime(clock.now, moment.now) }
        try check()
        var writer = SnapshotWriter()
        writer.onProgress(progress)
        clock.stage.snapshot(into: &writer)
        return writer
    }

    /// Takes the state out of `start`: a second owner would make the first event copy it.
    private func clock(_ start: inout RestoredStage<S>?, _ settings: S.Settings) throws -> StageClock<S> {
        if let start = start.take() { return StageClock(start.stage, now: start.moment.now) }
        return StageClock(try S(settings, context: context))
    }

    private func rebuilt(
        _ start: inout RestoredStage<S>?, _ moment: SnapshotMoment, _ check: () throws -> Void
    ) throws -> StageClock<S> {
        let from = start?.moment
        let epochs = try past.epochs(from: from?.position ?? 0)
        let batches = try RecordedBatches(
            plan, upstream: context.upstreamName, after: from,
            answers: S.transports(of: past.today).isEmpty ? nil : RecordedAnswers(of: S.self), through: moment)
        var rebuild = StageRebuild(
            try clock(&start, epochs.first), context, epochs, through: moment.position, by: batches)
        try rebuild.feed(from: plan.inputLog ?? "", after: from?.position ?? 0, check: check)
        try rebuild.adoptLastSettings()
        return rebuild.ended().0
    }

    private func recalled(
        _ start: inout RestoredStage<S>?, _ moment: SnapshotMoment, _ check: () throws -> Void
    ) throws -> StageClock<S> {
        let from = start?.moment.sequence ?? 0
        var epochs = try past.epochs(from: start == nil ? .max : from)
        var clock = try clock(&start, past.today)
        try clock.recall(from: plan.logDirectory, after: from, through: moment.sequence) { _ in try check() }
        while let settings = epochs.next(beforeEvent: .max) { try clock.adopt(settings, context: context) }
        return clock
    }
}

enum SnapshotMakerError: Error, CustomStringConvertible {
    /// A log does not hold what the stage has taken from it.
    case missing(String, UInt64)
    case otherTime(Instant, Instant)

    var description: String {
        switch self {
        case .missing(let log, let sequence): "\(log) does not hold event \(sequence)"
        case .otherTime(let found, let expected): "the logs lead to \(found), and the stage stands at \(expected)"
        }
    }
}
