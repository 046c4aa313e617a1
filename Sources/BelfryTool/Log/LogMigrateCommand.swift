import ArgumentParser
import EventLog
import Inspect
import JSON

struct LogMigrateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Converts logs of earlier formats to the format of this version.",
        discussion: """
            Prints the format of each log, and what would be done. So far there is only one format, so there is nothing to \
            migrate. For an unknown format it exits with 65. Prints text on a terminal; otherwise, or with --json, one JSON \
            object for each log.

              belfry log migrate --dry-run Pipelines/quickstart.yaml
              belfry log migrate out/changes
              belfry log migrate --dry-run out --json | jq 'select(.steps != [])'
            """)

    @Flag(help: "Only print what would be done.")
    var dryRun = false

    @OptionGroup var output: JSONOption

    @Argument(help: "A log's folder; or a pipeline file or a folder, for all its logs.", completion: .file())
    var place: String

    func run() throws {
        for directory in try LogPlace.oneOrAll(place).completeLogs() {
            let migration = try LogMigration(of: directory)
            try output.print([migration.text], json: [migration.json])
        }
    }
}

/// The result of migrating a log: nothing to do, since there is only one format so far.
struct LogMigration {
    let name: String
    let format: Int

    /// - Throws: ``ToolFailure`` with 65 for an unknown format; ``EventLogError`` if `log.json` is missing or unusable.
    init(of directory: String) throws {
        name = LogPlace.name(ofLogAt: directory)
        format = try EventLogs.format(directory: directory)
        guard (1...BatchFormat.version).contains(format) else {
            throw ToolFailure(
                .badData,
                "\(name) in \(directory) has format \(format); this version reads formats 1 to \(BatchFormat.version)")
        }
    }

    var text: String { "\(name): format \(format), nothing to migrate" }

    var json: String {
        ByteBuffer.object {
            $0.append("name", name)
            $0.append("format", format)
            $0.append("to", BatchFormat.version)
            $0.append("steps", [String]())
            $0.append("migrated", false)
        }.text
    }
}
