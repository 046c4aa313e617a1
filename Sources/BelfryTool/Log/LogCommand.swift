import ArgumentParser

struct LogCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Shows, checks and repairs the logs of a pipeline.",
        discussion: """
            All commands except `repair` also work while the pipeline is running. A place is a pipeline file, its data \
            folder, or a folder of logs. A log is given by its folder, or by its name in a place.

              belfry log ls Pipelines/quickstart.yaml
              belfry log show changes -p Pipelines/quickstart.yaml --from 100 --limit 10
              belfry log verify Pipelines/quickstart.yaml
            """,
        subcommands: [
            LogListCommand.self, LogShowCommand.self, LogStatCommand.self, LogVerifyCommand.self, LogRepairCommand.self,
            LogExportCommand.self, LogImportCommand.self, LogMigrateCommand.self,
        ])
}
