import EventLog
import PipelineKit
import Time

/// When a stage's state is put aside: after so much input, and at a clean stop. Belongs to the host's thread.
///
/// The state is put aside as it is when all that the stage has said is appended, so that what a snapshot includes is in
/// the log, or gave nothing to be there. Pushes that are out are a part of it.
struct SnapshotKeeper {
    /// Reading a state and writing it down costs about as much as reading so much input.
    private static let inputPerStateByte = 4
    /// One that is not made when so many times the input has come that it takes gives way to one that is made at once.
    private static let intervalsMax = 4

    private let files: SnapshotFiles
    private let every: Int
    private var inputBytes = 0

    /// Nil where the stage or the pipeline file takes no snapshots.
    init?<S: Stage>(_ type: S.Type, _ plan: HostPlan, _ log: EventLogWriter, upstream: (String, LogIdentity)) {
        guard let version = S.snapshotVersion, let every = plan.snapshotBytes else { return nil }
        let form = SnapshotForm(
            stage: S.kind, version: version, log: log.identity, upstream: upstream.1, upstreamName: upstream.0)
        files = SnapshotFiles(plan, form, lastSequence: log.lastSequence)
        self.every = every
    }

    /// What of its logs the stage needs to start again: from the older of its two newest snapshots, since the newest
    /// may turn out to be damaged. All of it while there are not two.
    var need: SnapshotMoment? {
        let newest = files.moments.suffix(SnapshotStore.newestKept)
        return newest.count == SnapshotStore.newestKept ? newest.min { $0.position < $1.position } : nil
    }

    mutating func noteInput(_ bytes: Int) { inputBytes += bytes }

    /// Whether enough came in for another, and the last one is written.
    func isDue() -> Bool {
        let due = max(every, SnapshotKeeper.inputPerStateByte * Int(clamping: files.newestBytes))
        guard inputBytes >= due else { return false }
        guard files.isAtWork else { return true }
        if inputBytes / SnapshotKeeper.intervalsMax >= due { files.hurry() }
        return false
    }

    /// Puts the stage's state aside as it is now.
    ///
    /// - Parameters:
    ///   - maker: Does it beside the stage; nil where the stage has to wait for it.
    ///   - flush: Makes durable what must be before the snapshot is. Called on another thread.
    mutating func take<S: Stage>(
        _ stage: S, _ moment: SnapshotMoment, beside maker: SnapshotMaker<S>?,
        after flush: @escaping @Sendable () throws -> Void = {}
    ) {
        guard isNew(moment) else { return }
        inputBytes = 0
        guard let maker, files.mayMake else { return write(stage, moment, flush) }
        files.make(moment, after: flush) { try maker.state(at: moment, check: $0, disk: $1) }
    }

    /// Takes one last where something was taken in since the one before, and waits until it is written.
    func finish<S: Stage>(
        _ stage: S, _ moment: SnapshotMoment, after flush: @escaping @Sendable () throws -> Void = {}
    ) {
        wait()
        if isNew(moment) { write(stage, moment, flush) }
        files.wait()
    }

    /// Gives up the one that is being made, and waits until nothing is being written.
    func wait() {
        files.stopMaking()
        files.wait()
    }

    /// Removes those that no stage can go on from any more, because what follows them in a log is gone.
    func remove(where isUseless: @escaping @Sendable (SnapshotMoment) -> Bool) { files.remove(where: isUseless) }

    private func isNew(_ moment: SnapshotMoment) -> Bool {
        let last = files.moments.last
        return moment.position != last?.position ?? 0 || moment.sequence != last?.sequence ?? 0
    }

    private func write<S: Stage>(
        _ stage: S, _ moment: SnapshotMoment, _ flush: @escaping @Sendable () throws -> Void
    ) {
        var writer = SnapshotWriter()
        stage.snapshot(into: &writer)
        files.write(moment, Array(writer.buffer.bytes), after: flush)
    }
}
