import PipelineKit
import Time

/// Observes a replay's outputs. A call may block to slow the replay down.
package protocol ReplayWatch: Sendable {
    /// Called with the machine's output for each batch in the compared part of a stage's log, just before the output is
    /// compared with the batch.
    func observe(_ output: MachineOutput, of stage: RecordedStage, at now: Instant) throws
}
