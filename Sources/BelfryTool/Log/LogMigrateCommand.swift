import ArgumentParser
import EventLog

struct LogMigrateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Brings logs of earlier formats to the one of this version.",
        discussion: """
            Says for each log which format it has and what would be done. There is one format so far, so there is \
            nothing to migrate. A format that this version does not know ends it with 65.

              belfry log migrate --dry-run Pipelines/quickstart.yaml
              belfry log migrate out/changes
            """)

    @Flag(help: "Only say what would be done.")
    var dryRun = false

    @Argument(help: "A log, or a place: then all logs in it.", completion: .file())
    var place: String

    func run() throws {
        for directory in try LogPlace.oneOrAll(place).whole() {
            try StandardOutput.write(line: try LogMigration.run(directory, isDryRun: dryRun))
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
    static func run(_ directory: String, isDryRun: Bool) throws -> String {
        let name = LogPlace.name(ofLogAt: directory)
        let format = try EventLogs.format(directory: directory)
        let steps = all.filter { $0.from >= format }
        guard format <= BatchFormat.version, steps.first?.from ?? format == format, format > 0 else {
            throw ToolFailure(
                .badData,
                "\(name) in \(directory) has format \(format); this version reads formats 1 to \(BatchFormat.version)")
        }
        if steps.isEmpty { return "\(name): format \(format), nothing to migrate" }
        for step in steps where !isDryRun { try step.migrate(directory) }
        let start = isDryRun ? "would go" : "gone"
        return "\(name): \(start) from format \(format) to \(BatchFormat.version): "
            + steps.map(\.summary).joined(separator: "; ")
    }
}
