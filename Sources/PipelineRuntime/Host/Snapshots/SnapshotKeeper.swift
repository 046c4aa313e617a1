import EventLog
import PipelineKit
import Time

/// Takes snapshots of a stage's state: each time after a certain amount of input, and at a clean stop. Belongs to the
/// host's thread.
///
/// A snapshot is taken only when the outputs of all input so far are in the log. It includes the pushes in flight.
struct SnapshotKeeper {
    /// Reading and writing one byte of state takes about as long as handling this many bytes of input.
    private static let inputPerStateByte = 4
    /// A certain amount of input makes a snapshot due. If this many times that amount comes before a background
    /// snapshot is ready, the snapshot is dropped, and the next one is made without pauses between its parts.
    private static let intervalsMax = 4

    private let files: SnapshotFiles
    private let intervalBytes: Int
    private var inputBytes = 0

    /// Nil if stages of this kind take no snapshots, or the log settings turn snapshots off.
    init?<S: Stage>(_ type: S.Type, _ plan: HostPlan, _ context: StageContext, _ log: EventLogWriter) {
        guard let intervalBytes = plan.snapshotBytes,
            let fit = SnapshotFit(type, context, lastSequence: log.lastSequence)
        else { return nil }
        files = SnapshotFiles(plan, fit, upstreamName: context.upstreamName, log)
        self.intervalBytes = intervalBytes
    }

    /// The oldest snapshot that the stage may have to start from, so the logs must be kept from there on. It is the
    /// older of the two newest, because the newest may be damaged. Nil while there are fewer than two snapshots. If the
    /// log has a home, only snapshots that the home keeps count, because another machine has no others.
    var oldestNeeded: SnapshotMoment? {
        let newest = files.momentsKept.suffix(SnapshotStore.newestKept)
        return newest.count == SnapshotStore.newestKept ? newest.min { $0.position < $1.position } : nil
    }

    /// The events of its own log that a source needs: the events from ``oldestNeeded`` on, and the events that it may
    /// read again.
    var floorOfSource: RetentionFloor {
        var floor = RetentionFloor(oldestNeeded)
        floor.own = min(floor.own, files.firstNeeded)
        return floor
    }

    /// Notes the first event of the stage's own log that the stage may read again.
    func noteFirstNeeded<S: Stage>(by stage: S) { files.noteFirstNeeded(stage.firstNeeded) }

    mutating func noteInput(_ bytes: Int) { inputBytes += bytes }

    /// Returns whether enough input came for another snapshot, and no snapshot is being made. Drops a snapshot that
    /// takes too long.
    func checkDue() -> Bool {
        let due = max(intervalBytes, SnapshotKeeper.inputPerStateByte * Int(clamping: files.newestBytes))
        guard inputBytes >= due else { return false }
        guard files.isAtWork else { return true }
        if inputBytes / SnapshotKeeper.intervalsMax >= due { files.dropAndHurryNext() }
        return false
    }

    /// Takes a snapshot of the stage's current state.
    ///
    /// - Parameters:
    ///   - maker: Makes the snapshot in the background. If this is nil, or the last background snapshot failed, the
    ///     snapshot is made on this thread.
    ///   - flush: Called before the snapshot is written, on another thread. It makes durable what the snapshot depends
    ///     on.
    mutating func takeSnapshot<S: Stage>(
        of stage: S, _ moment: SnapshotMoment, beside maker: SnapshotMaker<S>?,
        after flush: @escaping @Sendable () throws -> Void
    ) {
        guard isNew(moment) else { return }
        inputBytes = 0
        guard let maker, files.mayMakeInBackground else { return write(stage, moment, flush) }
        files.make(moment, after: flush) { try maker.state(at: moment, check: $0, disk: $1) }
    }

    /// Takes a final snapshot if the stage's position or its log has changed since the newest snapshot, and waits until
    /// it is written.
    func finish<S: Stage>(
        _ stage: S, _ moment: SnapshotMoment, after flush: @escaping @Sendable () throws -> Void
    ) {
        files.noteEnd()
        dropAndWait()
        if isNew(moment) { write(stage, moment, flush) }
        files.wait()
    }

    /// Drops a snapshot that is being made, and waits for a snapshot that is being written.
    func dropAndWait() {
        files.stopMaking()
        files.wait()
    }

    /// Removes snapshots that a stage can no longer start from, because the events after them were removed from a log.
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
        noteFirstNeeded(by: stage)
        files.write(moment, Array(writer.buffer.bytes), after: flush)
    }
}
