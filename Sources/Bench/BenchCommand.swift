import ArgumentParser

struct BenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measures how fast a pipeline is.",
        discussion: """
            Only a release build's numbers mean something. A table on a terminal; one JSON object otherwise, or with --json.

              belfry bench pipeline                        five processes, as fast as they go
              belfry bench pipeline --rate 20000           how long a change takes under a steady load
              belfry bench log                             the log alone
              belfry bench match                           matching alone
              belfry bench payload                         building payloads alone
              belfry bench deliver                         sending pushes alone
              belfry bench replay                          recorded logs, re-run and compared
            """,
        subcommands: [
            PipelineBenchCommand.self, LogBenchCommand.self, MatchBenchCommand.self, PayloadBenchCommand.self,
            DeliverBenchCommand.self, ReplayBenchCommand.self,
        ])
}
