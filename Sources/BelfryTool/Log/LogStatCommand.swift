import ArgumentParser
import Inspect

struct LogStatCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stat",
        abstract: "Counts the events of logs: number, bytes and rate of each type.",
        discussion: """
            Reads whole logs. Prints a table for each log on a terminal; otherwise, or with --json, one JSON object for each.

              belfry log stat Pipelines/quickstart.yaml
              belfry log stat out/matches
              belfry log stat out --json | jq '{name, events, types: [.types[].type]}'
            """)

    @Argument(help: "A log's folder; or a pipeline file or a folder, for all its logs.", completion: .file())
    var place: String

    @OptionGroup var output: JSONOption

    func run() throws {
        let choice = try LogPlace.oneOrAll(place)
        for directory in choice.logs {
            var progress = ReadingProgress(total: try LogPlace.bytes(of: directory))
            defer { progress.end() }
            let stat = try LogStat.read(directory) { progress.add($0) }
            progress.end()
            try output.print(StatText.lines(stat), json: [StatText.json(stat)])
        }
        try choice.finish()
    }
}
