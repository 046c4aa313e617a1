import ArgumentParser
import WebServices

struct BelfryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "belfry",
        abstract: "Turns record changes into pushes, step by step, and logs everything that happens.",
        discussion: """
            Start with a pipeline file:
              belfry validate Pipelines/quickstart.yaml       is the file valid?
              belfry run Pipelines/quickstart.yaml in.ndjson  what would be pushed?
              belfry up Pipelines/quickstart.yaml             start the pipeline
              belfry send Pipelines/quickstart.yaml in.ndjson send changes to it
              belfry tap match -p Pipelines/quickstart.yaml   watch a stage at work
              belfry log ls Pipelines/quickstart.yaml         what has happened so far?
              belfry replay Pipelines/quickstart.yaml         would it happen again?
              belfry trace 17 -p Pipelines/quickstart.yaml    what did a change lead to?
              belfry explain --change 17 --user _alice -p Pipelines/quickstart.yaml
              belfry state Pipelines/quickstart.yaml devices  which devices are known?
              belfry whatif Pipelines/quickstart.yaml --set coalesce.window=5s
              belfry doctor Pipelines/quickstart.yaml         is anything wrong with it?
              belfry dead-letters Pipelines/quickstart.yaml   what was not delivered?
              belfry doctor apns Pipelines/quickstart.yaml    would APNs accept its pushes?
              belfry push test Pipelines/quickstart.yaml --user _alice --device alice-phone
              belfry apns-server --show device                a local APNs for tests
              belfry conformance python3 plugin.py            does a plugin obey the rules?
              belfry key list keys.json                       the keys of the web services
              belfry store rebuild Pipelines/quickstart.yaml  make the gateway's store again
              belfry curve make shop.key                      a key for another machine

            Data goes to standard output, everything else to standard error. Exit codes: 0 yes; 1 no (a difference, a \
            failed check); 64 usage; 65 bad data; 66 no input; 69 unavailable; 70 a stage crashed; 73 cannot create; 74 \
            I/O; 77 no permission; 78 configuration.
            """,
        version: Tool.version,
        subcommands: [
            UpCommand.self, RunCommand.self, SendCommand.self, ValidateCommand.self, TapCommand.self, LogCommand.self,
            ReplayCommand.self, WhatIfCommand.self, StateCommand.self, TraceCommand.self, ExplainCommand.self,
            DoctorCommand.self, DeadLettersCommand.self, ConformanceCommand.self, PushCommand.self, KeyCommand.self,
            StoreCommand.self, CurveCommand.self, APNsServerCommand.self, BenchCommand.self, StageCommand.self,
            GatewayProgram.self,
        ])
}
