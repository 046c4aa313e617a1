import ArgumentParser
import PipelineKit
import Replay

/// How a program is told to do a stage's work for `belfry replay` in place of running the stage.
package struct WorkerOptions: ParsableArguments {
    @Flag(help: ArgumentHelp("Do the stage's work for a replay, on standard input and output.", visibility: .hidden))
    package var replayWorker = false

    package init() {}

    /// Takes its settings from the replay: the pipeline file may be one that this build cannot read.
    package func run(_ registry: Registry) throws { try ReplayWorker(registry: registry).run() }
}
