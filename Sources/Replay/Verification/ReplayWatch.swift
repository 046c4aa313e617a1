import PipelineKit
import Time

/// Observes a replay's outputs. It may block to slow the replay down.
package protocol ReplayWatch: Sendable {
    /// Called for each compared batch of a stage's log, with the machine's output for that batch.
    func take(_ output: MachineOutput, _ stage: RecordedStage, at now: Instant) throws
}
