import EventLog
import JSON
import PipelineKit
import PipelineRuntime

/// Brings the two machines of a stage to where a comparison of two worlds begins, in logs whose beginning is gone.
struct LockstepStart {
    let recorded: RecordedStage
    let baseline: any StageMachine
    let variant: any StageMachine
    /// Nil for a stage that takes no snapshots.
    let search: SnapshotSearch?

    /// Where the first stage begins: with its oldest snapshot, or at the logs' beginning.
    func first() throws -> StageStart {
        guard recorded.isTrimmed else { return .beginning }
        return try oldest(from: 0)
    }

    /// Where a stage begins whose input is known again behind `last`.
    func following(_ last: UInt64) throws -> StageStart {
        if last == 0, !recorded.isTrimmed { return .beginning }
        let headers = try search?.headers { recorded.covers($0) && $0.position <= last } ?? []
        for header in headers.reversed() {
            if let start = try restore(header) { return try approach(from: start, to: last) }
        }
        return recorded.isTrimmed ? try oldest(from: last) : try approach(from: .beginning, to: last)
    }

    private func oldest(from position: UInt64) throws -> StageStart {
        for header in try search?.headers(where: { recorded.covers($0) && $0.position >= position }) ?? [] {
            if let start = try restore(header) { return start }
        }
        try recorded.checkBeginning()
        return .beginning
    }

    private func restore(_ header: SnapshotHeader) throws -> StageStart? {
        var starts: [StageStart] = []
        for machine in [baseline, variant] {
            guard let machine = machine as? any RestorableMachine, let search else { return nil }
            starts.append(try search.restore(machine, where: { $0 == header }, problem: { _ in }))
        }
        return starts.contains(.beginning) ? nil : starts.first
    }

    /// Both take what the log holds up to there, as the stage did.
    private func approach(from start: StageStart, to last: UInt64) throws -> StageStart {
        var reached = start
        for machine in [variant, baseline] {
            var approach = try StageApproach(recorded, machine, start: start)
            try approach.run(to: .input(last))
            (reached.cursor, reached.sequence) = (last, approach.sequence)
        }
        return reached
    }
}
