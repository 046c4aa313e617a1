import ArgumentParser
import TestSupport
import Testing

@testable import BelfryTool
@testable import Bench

/// Compares the commands and the exit statuses on the manual's pages with the code.
///
/// `BELFRY_WRITE_REFERENCE=1 deploy/test --filter Reference` writes the pages.
@Suite struct CommandReferences {
    @Test func `the page on commands has the help of each visible command and a list of the benchmarks`() throws {
        let commands = Self.commands(BelfryCommand.self, [])
        let benchmarks = Self.commands(Bench.BenchCommand.self, ["belfry"]).dropFirst()
        #expect(commands.count > 20 && benchmarks.count > 4)
        let page = """
            # Commands

            Every command of `belfry`: what it is for, how it is called, and its options.

            | command | what it does |
            |---|---|
            \(commands.dropFirst().map(\.row).joined(separator: "\n"))

            The stages have programs of their own, too: `belfry-ingest`, `belfry-match`, `belfry-coalesce`, `belfry-payload` and
            `belfry-deliver`. Each takes `--pipeline FILE`, and `--stage NAME` where the file has several stages of its kind.
            [Exit status](ExitStatus.md) explains what the commands exit with.

            \(commands.map(\.section).joined(separator: "\n"))
            ## Benchmarks

            `belfry bench` starts the program `belfry-bench`. `belfry bench COMMAND --help` shows the options of a benchmark.

            | command | what it measures |
            |---|---|
            \(benchmarks.map(\.row).joined(separator: "\n"))

            """
        try ReferencePage("Commands.md").expect(page)
    }

    @Test func `the page on exit status and the help of belfry have each exit status`() throws {
        let statuses = ToolStatus.allCases.map { "\($0.rawValue)" }
        try ReferencePage("ExitStatus.md").expect(rows: statuses.map { ["`\($0)`"] }, under: "Of all commands")
        let help = try #require(BelfryCommand.configuration.discussion.split(separator: "Exit codes: ").last)
        #expect(help.matches(of: #/(?:^|; )([0-9]+) /#).map { String($0.1) } == statuses)
    }

    /// A command and all commands below it, without hidden commands.
    private static func commands(_ type: any ParsableCommand.Type, _ path: [String]) -> [DocumentedCommand] {
        guard type.configuration.shouldDisplay else { return [] }
        let path = path + [type.configuration.commandName ?? type._commandName]
        return [DocumentedCommand(type: type, name: path.joined(separator: " "))]
            + type.configuration.subcommands.flatMap { commands($0, path) }
    }
}

private struct DocumentedCommand {
    let type: any ParsableCommand.Type
    let name: String

    var row: String { "| `\(name)` | \(type.configuration.abstract) |" }

    var section: String {
        """
        ## \(name)

        ```text
        \(BelfryCommand.helpMessage(for: type, columns: 100))
        ```

        """
    }
}
