import EventLog
import PipelineKit

/// When a stage's state is put aside: after so much input, and at a clean stop. Belongs to the host's thread.
///
/// The state is taken down only when all that the stage has said is appended, so that what a snapshot includes is in the
/// log, or gave nothing to be there. Pushes that are out are a part of it.
struct SnapshotKeeper {
    /// Writing a state down costs about as much as reading so much input.
    private static let inputPerStateByte = 4

    private let files: SnapshotFiles
    private let every: Int
    private var inputBytes = 0
    private var last: SnapshotMoment?

    /// Nil where the stage or the pipeline file takes no snapshots.
    init?<S: Stage>(_ type: S.Type, _ plan: HostPlan, _ log: EventLogWriter, upstream: (String, LogIdentity)) {
        guard let version = S.snapshotVersion, let every = plan.snapshotBytes else { return nil }
        let form = SnapshotForm(
            stage: S.kind, version: version, log: log.identity, upstream: upstream.1, upstreamName: upstream.0)
        files = SnapshotFiles(plan, form, lastSequence: log.lastSequence)
        self.every = every
        last = files.moments.last
    }

    /// What of its logs the stage needs to start again: from the older of its two newest snapshots, since the newest
    /// may turn out to be damaged. All of it while there are not two.
    var need: SnapshotMoment? {
        let newest = files.moments.suffix(SnapshotStore.newestKept)
        return newest.count == SnapshotStore.newestKept ? newest.min { $0.position < $1.position } : nil
    }

    mutating func noteInput(_ bytes: Int) { inputBytes += bytes }

    /// Whether enough came in for another, and the last one is written.
    var isDue: Bool {
        inputBytes >= max(every, SnapshotKeeper.inputPerStateByte * Int(clamping: files.newestBytes))
            && !files.isWriting
    }

    mutating func take<S: Stage>(_ stage: S, _ moment: SnapshotMoment) {
        guard moment.position != last?.position ?? 0 || moment.sequence != last?.sequence ?? 0 else { return }
        var writer = SnapshotWriter()
        stage.snapshot(into: &writer)
        files.write(moment, Array(writer.bytes))
        (inputBytes, last) = (0, moment)
    }

    /// Takes one last where something was taken in since the one before, and waits until it is written.
    mutating func finish<S: Stage>(_ stage: S, _ moment: SnapshotMoment) {
        if inputBytes > 0 { take(stage, moment) }
        files.wait()
    }

    /// Waits until nothing is being written.
    func wait() { files.wait() }

    /// Removes those that no stage can go on from any more, because what follows them in a log is gone.
    func remove(where isUseless: @escaping @Sendable (SnapshotMoment) -> Bool) { files.remove(where: isUseless) }
}
