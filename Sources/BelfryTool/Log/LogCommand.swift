import ArgumentParser

struct LogCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Looks into the logs that a pipeline keeps.",
        discussion: """
            Works beside a running pipeline and without one. A place is a pipeline file, its data folder, or a folder \
            of logs; a log is its folder, or its name below a place.

              belfry log ls Pipelines/quickstart.yaml
              belfry log show changes -p Pipelines/quickstart.yaml --from 100 --limit 10
              belfry log verify Pipelines/quickstart.yaml
            """,
        subcommands: [
            LogListCommand.self, LogShowCommand.self, LogStatCommand.self, LogVerifyCommand.self, LogRepairCommand.self,
            LogExportCommand.self, LogImportCommand.self, LogMigrateCommand.self,
        ])
}
