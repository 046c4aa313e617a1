import ArgumentParser
@_exported import StageTool

extension Tool {
    /// `belfry-bench`, the program that `belfry bench` starts.
    package static func bench() async -> Never { await run(BenchProgram.self, ["bench"] + Tool.arguments) }
}

/// The parent command, so that help and errors show `belfry bench`, as the user typed it.
private struct BenchProgram: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "belfry", version: Tool.version, subcommands: [BenchCommand.self])
}
