import ArgumentParser

struct BenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measures how fast a pipeline and its parts are.",
        discussion: """
            Measure with a release build: a debug build is many times slower. Each bench prints text on a terminal, and \
            JSON elsewhere or with --json.

              belfry bench pipeline                  the five stages, as fast as they can
              belfry bench pipeline --rate 20000     latency under a steady load
              belfry bench ingest                    only ingest, with up to ten million live records
              belfry bench api                       the gateway for CloudKit Web Services
              belfry bench log                       only appending to a log and reading it
              belfry bench match                     only matching
              belfry bench memory                    memory for devices, badges, held notifications
              belfry bench payload                   only building payloads
              belfry bench deliver                   only sending pushes
              belfry bench failover                  another host takes over after a host was killed
              belfry bench lanes                     what lanes cost and gain
              belfry bench replay                    replaying the logs of a pipeline that the bench runs first
            """,
        subcommands: [
            PipelineBenchCommand.self, IngestBenchCommand.self, APIBenchCommand.self, LogBenchCommand.self,
            MatchBenchCommand.self, MemoryBenchCommand.self, PayloadBenchCommand.self, DeliverBenchCommand.self,
            FailoverBenchCommand.self, LanesBenchCommand.self, ReplayBenchCommand.self,
        ])
}
