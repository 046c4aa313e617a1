import EventLog
import JSON
import PipelineKit
import PipelineRuntime

/// Brings the baseline and the variant of a stage to the event where their comparison begins.
///
/// The comparison of the first stage begins at its log's beginning, or at a snapshot if the beginning is gone. The
/// comparison of a later stage begins with the first event that its upstream stage writes in the comparison. The
/// machines are first fed all input before this event, from the beginning of the logs or from an earlier snapshot. If
/// neither can be used, the comparison begins at a later snapshot.
struct LockstepStart {
    let recorded: RecordedStage
    let baseline: any StageMachine
    let variant: any StageMachine
    /// Nil for a stage that takes no snapshots.
    let search: SnapshotSearch?

    /// The variant is restored first, because it may be a program that refuses the snapshot. If the program refuses it,
    /// the baseline is not restored either.
    private var machines: [any StageMachine] { [variant, baseline] }

    /// The start of the first stage that is compared.
    func first() throws -> StageStart {
        recorded.isTrimmed ? try oldest(from: 0) : .beginning
    }

    /// The start of a later stage.
    ///
    /// - Parameter last: The last event of the upstream's log before the start of the upstream's comparison.
    func following(_ last: UInt64) throws -> StageStart {
        if last == 0, !recorded.isTrimmed { return .beginning }
        let headers = try search?.headers { recorded.covers($0) && $0.position <= last } ?? []
        for header in headers.reversed() {
            if let start = try search?.restore(machines, header, problem: { _ in }) {
                return try approach(from: start, to: last)
            }
        }
        return recorded.isTrimmed ? try oldest(from: last) : try approach(from: .beginning, to: last)
    }

    private func oldest(from position: UInt64) throws -> StageStart {
        if let search {
            return try search.restoreOldest(machines, of: recorded, from: position, problem: { _ in })
        }
        try recorded.checkBeginning()
        return .beginning
    }

    /// Feeds both machines the recorded input up to `last`.
    private func approach(from start: StageStart, to last: UInt64) throws -> StageStart {
        var reached = start
        for machine in machines {
            var approach = try StageApproach(recorded, machine, start: start)
            try approach.run(to: .input(last))
            (reached.cursor, reached.sequence) = (last, approach.sequence)
        }
        return reached
    }
}
