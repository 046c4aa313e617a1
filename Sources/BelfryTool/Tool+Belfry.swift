// Whatever speaks of failures, inputs and pipeline files here speaks of those that all programs have.
@_exported import StageTool

extension Tool {
    /// `belfry`.
    package static func belfry() async -> Never { await run(BelfryCommand.self, BenchCommand.askingForHelp(arguments)) }

    /// A command of `belfry` inside another program.
    ///
    /// - Returns: What a process would exit with.
    /// - Throws: `OutputError.closed`, when whoever reads what it prints has gone.
    package static func belfry(_ arguments: [String]) async throws(OutputError) -> Int32 {
        try await status(of: BelfryCommand.self, arguments)
    }
}
