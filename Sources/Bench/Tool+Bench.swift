import ArgumentParser
@_exported import StageTool

extension Tool {
    /// `belfry-bench`, which `belfry bench` starts.
    package static func bench() async -> Never { await run(BenchProgram.self, ["bench"] + Tool.arguments) }
}

/// Stands for `belfry`, so that usages and messages name the command as it is typed.
private struct BenchProgram: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "belfry", version: Tool.version, subcommands: [BenchCommand.self])
}
