import PipelineKit
import Time

/// Someone who looks on while stages are re-run, and may hold them up.
package protocol ReplayWatch: Sendable {
    /// Called after each batch of a stage's log that counts, with what the machine gave for it.
    func take(_ output: MachineOutput, _ stage: RecordedStage, at now: Instant) throws
}
