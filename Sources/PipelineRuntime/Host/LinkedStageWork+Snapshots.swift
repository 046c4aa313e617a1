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
        guard keeper?.isDue() == true, isSettled, let clock, let context, let moment else { return }
        outlet.pauses.lap(.input)
        defer { outlet.pauses.lap(.snapshot) }
        let flush = outlet.flushingDeadLetters
        let maker = SnapshotMaker(plan, past, context, flushDeadLetters: flush)
        if maker == nil { try flush() }
        keeper?.take(clock.stage, moment, beside: maker)
    }

    func trimmed(to first: UInt64) { keeper?.remove { $0.firstRead < first } }
}
