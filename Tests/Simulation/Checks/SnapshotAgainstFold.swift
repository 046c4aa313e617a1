import EventLog
import JSON
import PipelineKit
import TestSupport

@testable import PipelineRuntime

/// A stage's loop that gives the state of the running stage, and the state that ``SnapshotMaker`` builds from the logs.
/// Both states must be equal.
protocol FoldableWork {
    /// Both states in snapshot form. Nil while the stage is still rebuilding its state, has unfinished work or a full
    /// disk, or if the upstream's log cannot be read.
    func states() throws -> (live: [UInt8], folded: [UInt8])?
}

extension ConsumerLoop: FoldableWork {
    func states() throws -> (live: [UInt8], folded: [UInt8])? {
        guard isSettled, let clock, let context, let moment,
            let maker = SnapshotMaker(plan.withoutFaults, timeline, context)
        else { return nil }
        return (clock.state, try maker.bytes(at: moment))
    }
}

extension SourceLoop: FoldableWork {
    func states() throws -> (live: [UInt8], folded: [UInt8])? {
        guard isSettled, let maker = SnapshotMaker(plan.withoutFaults, timeline, context) else {
            return nil
        }
        return (clock.state, try maker.bytes(at: moment))
    }
}

extension HostPlan {
    /// The plan without simulated faults, because a comparison must not fail.
    fileprivate var withoutFaults: HostPlan {
        var plan = self
        plan.surroundings.calls = FileCalls()
        return plan
    }
}

extension StageClock {
    fileprivate var state: [UInt8] {
        var writer = SnapshotWriter()
        stage.snapshot(into: &writer)
        return Array(writer.buffer.bytes)
    }
}

extension SnapshotMaker {
    fileprivate func bytes(at moment: SnapshotMoment) throws -> [UInt8] {
        let made = try state(at: moment) {}
        return Array(made.state.buffer.bytes)
    }
}
