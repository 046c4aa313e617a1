import PipelineKit

/// When the stage's state is put aside, and which moment of it.
extension ConsumerLoop {
    /// Whether the stage's state is that of its log and of what it has taken in, and of nothing that is still to come.
    var isSettled: Bool {
        out.isEmpty && state.isSettled(conditions)
    }

    var moment: SnapshotMoment? {
        clock.map { SnapshotMoment(position: state.taken, sequence: outlet.log.lastSequence, now: $0.now) }
    }

    func putAside() {
        guard keeper?.isDue() == true, isSettled, let clock, let context, let moment else { return }
        outlet.pauses.lap(.input)
        defer { outlet.pauses.lap(.snapshot) }
        keeper?.take(
            clock.stage, moment, beside: SnapshotMaker(plan, past, context), after: outlet.flushingDeadLetters)
    }

    func trimmed(to first: UInt64) { keeper?.remove { $0.firstRead < first } }
}
