import EventLog
import PipelineKit
import Time

/// A stage with the state of one of its snapshots.
struct RestoredStage<S: Stage> {
    var stage: S
    var moment: SnapshotMoment
}

/// Finds the newest snapshot that a stage can start from, and restores the stage from it.
///
/// A damaged or unfit snapshot is reported on standard error. Then the stage starts from an older snapshot, or from the
/// beginning of the log, which only takes longer.
final class SnapshotSearch<S: Stage> {
    private let plan: HostPlan
    private let timeline: SettingsTimeline<S>
    private let store: SnapshotStore
    private let context: StageContext
    private let fit: SnapshotFit
    private var unusable: Set<SnapshotMoment> = []
    private var reported: Set<String> = []

    /// Nil if stages of this kind take no snapshots, or the log settings turn snapshots off.
    ///
    /// - Parameter lastSequence: The last sequence of the stage's own log.
    init?(
        _ plan: HostPlan, _ context: StageContext, _ timeline: SettingsTimeline<S>, lastSequence: UInt64,
        disk: DiskPace = DiskPace()
    ) {
        guard plan.snapshotBytes != nil, let fit = SnapshotFit(S.self, context, lastSequence: lastSequence) else {
            return nil
        }
        self.fit = fit
        self.plan = plan
        self.timeline = timeline
        self.context = context
        var store = plan.snapshots
        store.pace = disk
        self.store = store
    }

    /// The newest snapshot that includes no upstream event after `position`; nil if there is no such snapshot.
    ///
    /// - Throws: ``EventLogError/endLost(directory:last:file:sequence:)`` if a snapshot is ahead of the log, unless the
    ///   sync policy is `never`. With `never` such a snapshot is removed, because it would seem to fit once the log has
    ///   grown. Also throws if the snapshots cannot be listed, or if such a snapshot cannot be removed.
    func newest(through position: UInt64 = .max) throws -> RestoredStage<S>? {
        try handleAheadOfLog()
        return newest { $0.position <= position }
    }

    /// The newest snapshot at or before a moment; nil if there is no such snapshot. Unfit snapshots are skipped
    /// silently. `progress` is called now and then while a snapshot is restored.
    func newest(notAfter moment: SnapshotMoment, progress: @escaping () -> Void) -> RestoredStage<S>? {
        newest(progress) { [fit] in
            fit.objection(to: $0) == nil && $0.position <= moment.position && $0.now <= moment.now
        }
    }

    private func newest(_ progress: (() -> Void)? = nil, where isWanted: (SnapshotHeader) -> Bool)
        -> RestoredStage<S>?
    {
        while let snapshot = find(where: isWanted) {
            do throws(SnapshotError) { return try restore(snapshot, progress) } catch {
                report("\(snapshot.path): \(error)")
                unusable.insert(SnapshotMoment(snapshot.header))
            }
        }
        return nil
    }

    /// Removes the snapshots that include upstream events after `position`. The upstream has lost these events.
    func remove(after position: UInt64) throws {
        try store.remove { $0.header.map { $0.log == fit.log && $0.position > position } ?? false }
    }

    private func find(where isWanted: (SnapshotHeader) -> Bool) -> Snapshot? {
        do throws(EventLogError) {
            return try store.newest(
                fitting: fit,
                where: { isWanted($0) && !unusable.contains(SnapshotMoment($0)) }, problem: report)
        } catch {
            write("cannot look for snapshots: \(error)")
            return nil
        }
    }

    private func restore(_ snapshot: Snapshot, _ progress: (() -> Void)?) throws(SnapshotError) -> RestoredStage<S> {
        var stage: S
        do { stage = try S(timeline.periods(from: snapshot.header.position).first, context: context) } catch {
            throw SnapshotError("the recorded settings are refused: \(error)", at: 0)
        }
        var reader = SnapshotReader(snapshot.state.span.bytes)
        if let progress { reader.onProgress(progress) }
        try stage.restore(from: &reader)
        guard reader.isAtEnd else { throw reader.error("the stage did not read the rest") }
        return RestoredStage(stage: stage, moment: SnapshotMoment(snapshot.header))
    }

    /// Looks for snapshots that include events which the log has lost. The log is made durable before a snapshot is
    /// written, so such a snapshot means that a part of the log was removed. With the sync policy `never`, a power cut
    /// can also cause the loss. So with `never` these snapshots are removed.
    private func handleAheadOfLog() throws {
        if plan.sync != .never, let file = try store.list().last(where: isAheadOfLog) {
            throw EventLogError.endLost(
                directory: plan.logDirectory, last: fit.lastSequence, file: file.path,
                sequence: file.header?.sequence ?? 0)
        }
        try store.remove { file in
            guard isAheadOfLog(file), let header = file.header else { return false }
            report("\(file.path): \(fit.objection(to: header) ?? ""); removed")
            return true
        }
    }

    private func isAheadOfLog(_ file: SnapshotFile) -> Bool {
        file.header.map { $0.log == fit.log && $0.sequence > fit.lastSequence } ?? false
    }

    private func report(_ problem: String) { write("skipped a snapshot: \(problem)") }

    private func write(_ message: String) {
        guard reported.insert(message).inserted else { return }
        StandardError.write("\(plan.stage): \(message)")
    }
}

extension SnapshotFit {
    /// Nil if stages of this kind take no snapshots.
    init?<S: Stage>(_ type: S.Type, _ context: StageContext, lastSequence: UInt64) {
        guard let version = S.snapshotVersion else { return nil }
        self.init(
            stage: S.kind, version: version, log: context.log, upstream: context.upstream, lastSequence: lastSequence)
    }
}
