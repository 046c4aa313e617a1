import ArgumentParser

/// The `--timeout` of commands that wait for a running stage.
struct TimeoutOption: ParsableArguments {
    @Option(help: "How many seconds to wait for an answer.")
    var timeout: Double = 10

    var duration: Duration { .seconds(timeout) }

    func validate() throws {
        guard timeout > 0, timeout <= 86_400 else {
            throw ValidationError("--timeout takes a number of seconds, more than 0 and at most 86400, not \(timeout)")
        }
    }
}
