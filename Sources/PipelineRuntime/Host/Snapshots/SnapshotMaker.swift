import EventLog
import Glibc
import PipelineKit
import Time

/// A state in snapshot form.
struct MadeSnapshot: ~Copyable {
    let state: SnapshotWriter
    /// See ``SnapshottingStage/firstNeeded``.
    let firstNeeded: UInt64?
}

/// Makes a stage's state a second time, from its newest snapshot and the logs, on a thread beside the running stage.
/// Because stages are deterministic, both states are the same.
struct SnapshotMaker<S: Stage>: Sendable {
    private let plan: HostPlan
    private let timeline: SettingsTimeline<S>
    private let context: StageContext

    /// Nil if the stage is not a source and this machine does not have the upstream log that the stage reads.
    init?(_ plan: HostPlan, _ timeline: SettingsTimeline<S>, _ context: StageContext) {
        (self.plan, self.timeline, self.context) = (plan, timeline, context)
        guard S.isSource || hasInput else { return nil }
    }

    private var hasInput: Bool {
        guard let directory = plan.inputLog else { return false }
        do throws(EventLogError) { return try EventLogs.identity(directory: directory) == context.upstream } catch {
            return false
        }
    }

    /// - Parameter check: Called now and then. An error that it throws ends the work.
    func state(
        at moment: SnapshotMoment, check: @escaping () throws -> Void, disk: DiskPace = DiskPace()
    ) throws -> MadeSnapshot {
        // A callback of the snapshot's reader and writer cannot throw, so it drops the error. The next `check()`
        // outside of a callback throws the error again.
        let progress = { do { try check() } catch {} }
        let search = SnapshotSearch<S>(plan, context, timeline, lastSequence: moment.sequence, disk: disk)
        var start = search?.newest(notAfter: moment, progress: progress)
        try check()
        var clock =
            S.isSource
            ? try clockFromOwnLog(&start, moment, check) : try clockFromUpstreamLog(&start, moment, check)
        var out = Outbox()
        clock.advance(to: moment.now, into: &out)
        guard clock.now == moment.now else {
            throw RebuildError.otherTime(made: clock.now, running: moment.now)
        }
        guard out.isEmpty else { throw RebuildError.extraOutput(before: moment.now) }
        try check()
        var writer = SnapshotWriter()
        writer.onProgress(progress)
        clock.stage.snapshot(into: &writer)
        return MadeSnapshot(state: writer, firstNeeded: clock.stage.firstNeeded)
    }

    /// The clock of the restored stage, or of a new stage if `start` is nil. The state is moved out of `start`. If
    /// `start` kept the state too, the first event would copy all of it.
    private func clock(_ start: inout RestoredStage<S>?, _ settings: S.Settings) throws -> StageClock<S> {
        if let start = start.take() { return StageClock(start.stage, now: start.moment.now) }
        return StageClock(try S(settings, context: context))
    }

    private func clockFromUpstreamLog(
        _ start: inout RestoredStage<S>?, _ moment: SnapshotMoment, _ check: () throws -> Void
    ) throws -> StageClock<S> {
        let from = start?.moment
        let periods = try timeline.periods(from: from?.position ?? 0)
        let batches = try RecordedBatches(
            plan, upstream: context.upstreamName, after: from,
            answers: S.transports(of: timeline.current).isEmpty ? nil : RecordedAnswers(of: S.self), through: moment)
        var rebuild = StageRebuild(
            try clock(&start, periods.first), context, periods, through: moment.position, by: batches,
            lane: plan.linkLane)
        if plan.hosts != nil { try waitForInput(through: moment.position, check) }
        try rebuild.feed(from: plan.inputLog ?? "", after: from?.position ?? 0, check: check)
        try rebuild.adoptLastSettings()
        return rebuild.ended().0
    }

    /// Waits until this machine has the upstream's log through an event. If another machine writes the log, a stage
    /// that stands by here follows it.
    private func waitForInput(through sequence: UInt64, _ check: () throws -> Void) throws {
        let end = ContinuousClock.now + Self.inputWaitMax
        while try EventLogs.summary(directory: plan.inputLog ?? "").lastSequence < sequence, .now < end {
            try check()
            usleep(20_000)
        }
    }

    private static var inputWaitMax: Duration { .seconds(5) }

    /// For a source, which reads no other log.
    private func clockFromOwnLog(
        _ start: inout RestoredStage<S>?, _ moment: SnapshotMoment, _ check: () throws -> Void
    ) throws -> StageClock<S> {
        let from = start?.moment.sequence ?? 0
        var periods = try timeline.periods(from: start == nil ? .max : from)
        var clock = try clock(&start, timeline.current)
        try clock.recall(from: plan.logDirectory, after: from, through: moment.sequence) { _ in try check() }
        while let settings = periods.next(beforeEvent: .max) { try clock.adopt(settings, context: context) }
        return clock
    }
}

/// Why a stage's state cannot be made from the logs.
enum RebuildError: Error, CustomStringConvertible {
    /// A log does not have an event that the stage has read from it or written to it.
    case missingEvent(log: String, sequence: UInt64)
    case otherTime(made: Instant, running: Instant)
    /// The state made from the logs has an output that the running stage had not written by this time.
    case extraOutput(before: Instant)

    var description: String {
        switch self {
        case .missingEvent(let log, let sequence): "\(log) does not hold event \(sequence)"
        case .otherTime(let made, let running):
            "the state made from the logs is at \(made), but the running stage is at \(running)"
        case .extraOutput(let time): "the logs lead to an output that the stage did not write before \(time)"
        }
    }
}
