import EventLog
import PipelineKit

/// When the stage's state is put aside, and which moment of it.
extension LinkedStageWork {
    /// Whether the stage's state is that of its log and of what it has taken in, and of nothing that is still to come.
    var isSettled: Bool {
        hasCaughtUp && step == nil && out.isEmpty && !outlet.isShort && !mustRecord && held == nil
    }

    var moment: SnapshotMoment? {
        clock.map { SnapshotMoment(position: taken, sequence: outlet.log.lastSequence, now: $0.now) }
    }

    func putAside() throws {
        guard keeper?.isDue == true, isSettled, let clock, let moment else { return }
        try outlet.flushDeadLetters()
        keeper?.take(clock.stage, moment)
    }

    func trimmed(to first: UInt64) { keeper?.remove { $0.firstRead < first } }
}
