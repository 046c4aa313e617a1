import ArgumentParser

struct BenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measures how fast a pipeline is.",
        discussion: """
            Only a release build's numbers mean something. A table on a terminal; one JSON object otherwise, or with --json.

              belfry bench pipeline                        five processes, as fast as they go
              belfry bench pipeline --rate 20000           how long a change takes under a steady load
              belfry bench relay                           five processes that only pass bytes on: the ceiling
              belfry bench link                            one hop
              belfry bench log                             the log alone
              belfry bench restart                         how soon stages are ready again
              belfry bench fanout                          one change that 100,000 subscriptions watch
              belfry bench match                           matching alone
              belfry bench payload                         building payloads alone
              belfry bench deliver                         sending pushes alone
              belfry bench replay                          recorded logs, re-run and compared
            """,
        subcommands: [
            PipelineBenchCommand.self, LinkBenchCommand.self, LogBenchCommand.self, RelayBenchCommand.self,
            RelayHopCommand.self, RestartBenchCommand.self,
            ReplayBenchCommand.self, MatchBenchCommand.self, PayloadBenchCommand.self, DeliverBenchCommand.self,
            FanOutBenchCommand.self,
        ])
}
