import ArgumentParser
import EventLog
import Inspect
import JSON

struct LogMigrateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Brings logs of earlier formats to the one of this version.",
        discussion: """
            Says for each log which format it has and what would be done. There is one format so far, so there is \
            nothing to migrate. A format that this version does not know ends it with 65. Text on a terminal; one \
            JSON object a log otherwise, or with --json.

              belfry log migrate --dry-run Pipelines/quickstart.yaml
              belfry log migrate out/changes
              belfry log migrate --dry-run out --json | jq 'select(.steps != [])'
            """)

    @Flag(help: "Only say what would be done.")
    var dryRun = false

    @OptionGroup var output: JSONOption

    @Argument(help: "A log, or a place: then all logs in it.", completion: .file())
    var place: String

    func run() throws {
        for directory in try LogPlace.oneOrAll(place).whole() {
            let report = try LogMigration.run(directory, isDryRun: dryRun)
            try output.print([report.text], json: [report.json])
        }
    }
}

/// A step from one format of logs to the next.
struct LogMigration {
    /// The format that it takes; it leaves the next higher.
    let from: Int
    /// What it changes, for the one who decides.
    let summary: String
    let migrate: (_ directory: String) throws -> Void

    /// Every step there is, in order. A later format adds one.
    static var all: [LogMigration] { [] }

    /// Takes a log through the steps that it needs, and says so.
    static func run(_ directory: String, isDryRun: Bool) throws -> MigrationReport {
        let name = LogPlace.name(ofLogAt: directory)
        let format = try EventLogs.format(directory: directory)
        let steps = all.filter { $0.from >= format }
        guard format <= BatchFormat.version, steps.first?.from ?? format == format, format > 0 else {
            throw ToolFailure(
                .badData,
                "\(name) in \(directory) has format \(format); this version reads formats 1 to \(BatchFormat.version)")
        }
        for step in steps where !isDryRun { try step.migrate(directory) }
        return MigrationReport(name: name, format: format, steps: steps.map(\.summary), isDryRun: isDryRun)
    }
}

/// What was done to a log, or would be, for people and for programs.
struct MigrationReport: Hashable {
    var name: String
    /// The one that it was found with.
    var format: Int
    /// What each step changes; none where there is nothing to migrate.
    var steps: [String]
    var isDryRun: Bool

    var text: String {
        if steps.isEmpty { return "\(name): format \(format), nothing to migrate" }
        let start = isDryRun ? "would go" : "gone"
        return "\(name): \(start) from format \(format) to \(BatchFormat.version): " + steps.joined(separator: "; ")
    }

    var json: String {
        ByteBuffer.object {
            $0.append("name", name)
            $0.append("format", format)
            $0.append("to", BatchFormat.version)
            $0.append("steps", steps)
            $0.append("migrated", !isDryRun && !steps.isEmpty)
        }.text
    }
}
