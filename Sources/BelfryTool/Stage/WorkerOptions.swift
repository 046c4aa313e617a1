import ArgumentParser
import BuiltIns
import Replay

/// How a program is told to do a stage's work for `belfry replay` in place of running the stage.
struct WorkerOptions: ParsableArguments {
    @Flag(help: ArgumentHelp("Do the stage's work for a replay, on standard input and output.", visibility: .hidden))
    var replayWorker = false

    /// Takes its settings from the replay: the pipeline file may be one that this build cannot read.
    func run() throws { try ReplayWorker(registry: .builtIns).run() }
}
