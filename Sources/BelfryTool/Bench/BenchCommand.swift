import ArgumentParser

/// Runs `belfry-bench` in place of this process.
struct BenchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench", abstract: "Measures how fast a pipeline is.")

    @Argument(parsing: .captureForPassthrough) var arguments: [String] = []

    func run() throws { try SiblingProgram("belfry-bench").replaceThisProcess(arguments) }

    /// Turns `help bench log` into `bench log --help`, because only `belfry-bench` contains the help texts of the
    /// benches.
    static func replacingHelpCommand(in arguments: [String]) -> [String] {
        arguments.prefix(2) == ["help", "bench"] ? arguments.dropFirst() + ["--help"] : arguments
    }
}
