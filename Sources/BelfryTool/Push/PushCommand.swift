import ArgumentParser

struct PushCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push",
        abstract: "Sends pushes by hand.",
        subcommands: [PushTestCommand.self])
}
