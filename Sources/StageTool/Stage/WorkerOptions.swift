import ArgumentParser
import PipelineKit
import Replay

/// Makes a program do a stage's work for `belfry replay` or `belfry whatif` instead of running the stage.
package struct WorkerOptions: ParsableArguments {
    @Flag(help: ArgumentHelp("Do the stage's work for a replay, on standard input and output.", visibility: .hidden))
    package var replayWorker = false

    package init() {}

    /// The stage gets its settings from the replay, since this build may not be able to read the pipeline file.
    package func run(_ registry: Registry) throws { try ReplayWorker(registry: registry).run() }
}
