import ArgumentParser

/// The `--json` flag of commands that print text on a terminal, and JSON otherwise.
struct JSONOption: ParsableArguments {
    @Flag(help: "Print JSON even on a terminal.")
    var json = false

    var isJSON: Bool { json || !StandardOutput.isTerminal }

    func print(_ text: @autoclosure () -> [String], json: @autoclosure () -> [String]) throws {
        for line in isJSON ? json() : text() { try StandardOutput.write(line: line) }
    }
}
