import EventLog
import PipelineKit
import Time

/// A stage as one of its snapshots left it.
struct RestoredStage<S: Stage> {
    var stage: S
    var moment: SnapshotMoment
}

/// Finds the newest snapshot that a stage can go on from, and restores the stage from it: when a host starts, before it
/// feeds the stage what came after.
///
/// Whatever is wrong with one is said on standard error, and an older one serves, or the whole history: snapshots
/// change how long a start takes, never what comes of it.
final class SnapshotSearch<S: Stage> {
    private let plan: HostPlan
    private let past: SettingsTimeline<S>
    private let store: SnapshotStore
    private let context: StageContext
    private let fit: SnapshotFit
    private var unusable: Set<SnapshotMoment> = []
    private var told: Set<String> = []

    /// Nil where the stage or the pipeline file takes no snapshots.
    convenience init?(
        _ plan: HostPlan, _ log: EventLogWriter, _ past: SettingsTimeline<S>, upstream: (name: String, LogIdentity)
    ) {
        let context = StageContext(
            log: log.identity, upstream: upstream.1, upstreamName: upstream.name, registry: plan.registry)
        self.init(plan, context, past, lastSequence: log.lastSequence)
    }

    /// - Parameters:
    ///   - lastSequence: Of the stage's own log.
    ///   - disk: The pace at which a snapshot is read.
    init?(
        _ plan: HostPlan, _ context: StageContext, _ past: SettingsTimeline<S>, lastSequence: UInt64,
        disk: DiskPace = DiskPace()
    ) {
        guard let version = S.snapshotVersion, plan.snapshotBytes != nil else { return nil }
        self.plan = plan
        self.past = past
        self.context = context
        var store = plan.snapshots
        store.pace = disk
        self.store = store
        fit = SnapshotFit(
            stage: S.kind, version: version, log: context.log, upstream: context.upstream, lastSequence: lastSequence)
    }

    /// The newest that includes at most that much of the upstream's log; nil where there is none.
    ///
    /// - Throws: Where a snapshot of a past that the log has lost cannot be removed: once the log has grown again, it
    ///   would pass for its own.
    func newest(through position: UInt64 = .max) throws -> RestoredStage<S>? {
        try removeLostPasts()
        return newest { $0.position <= position }
    }

    /// The newest that was taken at a moment, or before. Those that do not fit are passed over without a word.
    ///
    /// - Parameter progress: Called now and then while it is read.
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
                say("\(snapshot.path): \(error)")
                unusable.insert(SnapshotMoment(snapshot.header))
            }
        }
        return nil
    }

    /// Removes those that include more of the upstream's log than that: the upstream has lost what they were made from.
    func remove(after position: UInt64) throws {
        try store.remove { $0.header.map { $0.log == fit.log && $0.position > position } ?? false }
    }

    private func find(where isWanted: (SnapshotHeader) -> Bool) -> Snapshot? {
        do throws(EventLogError) {
            return try store.newest(
                fitting: fit,
                where: { isWanted($0) && !unusable.contains(SnapshotMoment($0)) }, problem: say)
        } catch {
            say("\(error)")
            return nil
        }
    }

    private func restore(_ snapshot: Snapshot, _ progress: (() -> Void)?) throws(SnapshotError) -> RestoredStage<S> {
        var stage: S
        do { stage = try S(past.epochs(from: snapshot.header.position).first, context: context) } catch {
            throw SnapshotError("the stage's settings are refused: \(error)", at: 0)
        }
        var reader = SnapshotReader(snapshot.state.span.bytes)
        if let progress { reader.onProgress(progress) }
        try stage.restore(from: &reader)
        guard reader.isAtEnd else { throw SnapshotError("there is more than the stage reads", at: 0) }
        return RestoredStage(stage: stage, moment: SnapshotMoment(snapshot.header))
    }

    private func removeLostPasts() throws {
        try store.remove { file in
            guard let header = file.header, header.log == fit.log, header.sequence > fit.lastSequence else {
                return false
            }
            say("\(file.path): \(fit.objection(to: header) ?? ""); removed")
            return true
        }
    }

    private func say(_ problem: String) {
        guard told.insert(problem).inserted else { return }
        StandardError.write("\(plan.stage): snapshot passed over: \(problem)")
    }
}
