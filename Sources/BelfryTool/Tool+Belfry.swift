// Whatever speaks of failures, inputs and pipeline files here speaks of those that all programs have.
@_exported import StageTool

extension Tool {
    /// `belfry`.
    package static func belfry() async -> Never { await run(BelfryCommand.self) }
}
