// Exported, so that every file of this module can use the types that all programs share, such as ToolFailure.
@_exported import StageTool

extension Tool {
    /// Runs `belfry`.
    package static func belfry() async -> Never {
        await run(BelfryCommand.self, BenchCommand.replacingHelpCommand(in: arguments))
    }

    /// Runs a command of `belfry` inside another program.
    ///
    /// - Returns: The exit status.
    /// - Throws: `OutputError.closed` if the reader of standard output has gone.
    package static func belfry(_ arguments: [String]) async throws(OutputError) -> Int32 {
        try await status(of: BelfryCommand.self, arguments)
    }
}
