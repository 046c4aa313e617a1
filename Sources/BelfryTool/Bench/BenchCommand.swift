import ArgumentParser

/// `belfry-bench` takes the place of this process.
struct BenchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench", abstract: "Measures how fast a pipeline is.")

    @Argument(parsing: .captureForPassthrough) var arguments: [String] = []

    func run() throws { try SiblingProgram("belfry-bench").replaceThisProcess(arguments) }

    /// `help bench log` as `bench log --help`: the help is in the other program.
    static func askingForHelp(_ arguments: [String]) -> [String] {
        arguments.prefix(2) == ["help", "bench"] ? arguments.dropFirst() + ["--help"] : arguments
    }
}
