import ArgumentParser

/// `--json` of the commands that print text on a terminal and JSON elsewhere.
struct JSONOption: ParsableArguments {
    @Flag(help: "Print JSON, also on a terminal.")
    var json = false

    var isWanted: Bool { json || !StandardOutput.isTerminal }

    /// Prints what is wanted, a line each.
    func print(_ text: @autoclosure () -> [String], json: @autoclosure () -> [String]) throws {
        for line in isWanted ? json() : text() { try StandardOutput.write(line: line) }
    }
}
