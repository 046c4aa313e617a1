import ArgumentParser
import Glibc
import PipelineKit
import PipelineRuntime

/// Runs the programs of Belfry. Each program's `main.swift` calls a function of `Tool`, here or in an extension in
/// another module.
package enum Tool {
    /// `belfry-ingest`, the program of the source stage, which has no upstream.
    package static func source<Kind: StageKind>(_ kind: Kind.Type) async -> Never {
        await run(IngestProgram<Kind>.self)
    }

    /// The program of any other stage, such as `belfry-match`.
    package static func stage<Kind: DescribedStageKind>(_ kind: Kind.Type) async -> Never {
        await run(StageProgram<Kind>.self)
    }

    package static let version = "belfry 0.1"

    package static var arguments: [String] { Array(CommandLine.arguments.dropFirst()) }

    package static func run<Command: AsyncParsableCommand>(
        _ type: Command.Type, _ arguments: [String] = Tool.arguments
    ) async -> Never {
        let hangup = StopSignals.hold(SIGHUP)
        StopSignals.ignore(SIGPIPE)
        // A write beyond the limit for the size of files then fails, as on a full disk, instead of ending the process.
        StopSignals.survive(SIGXFSZ)
        allowManyFiles()
        do {
            exit(try await status(of: type, arguments) { hangup.release() })
        } catch {
            endWithSIGPIPE()
        }
    }

    /// Runs a command, also inside another program. Such a program first sets ``StandardDescriptors``.
    ///
    /// - Parameter releaseHangup: Releases SIGHUP, which is held back until then. Called before each command that does
    ///   not reload its file on SIGHUP. SIGHUP then ends the command, also if it came earlier.
    /// - Returns: The exit status.
    /// - Throws: `OutputError.closed` if the reader of standard output has gone.
    package static func status<Command: AsyncParsableCommand>(
        of type: Command.Type, _ arguments: [String], releaseHangup: () -> Void = {}
    ) async throws(OutputError) -> Int32 {
        do {
            try type.checkHelp(arguments)
            var command = try type.parseAsRoot(arguments)
            if !(command is any ReloadsOnHangup) { releaseHangup() }
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
            return ToolStatus.success.rawValue
        } catch {
            return try explain(error, of: type)
        }
    }

    /// Reports why a command ended, or prints the help or the version that was asked for.
    ///
    /// - Returns: The exit status.
    /// - Throws: `OutputError.closed` if the reader of standard output has gone.
    private static func explain(_ error: any Error, of type: (some ParsableCommand).Type) throws(OutputError) -> Int32 {
        if error as? OutputError == .closed { throw .closed }
        if let failure = ToolFailure(explaining: error) {
            if !failure.message.isEmpty { StandardError.write(failure.message) }
            return failure.status.rawValue
        }
        let code = type.exitCode(for: error)
        // The argument parser gives 1 to unknown errors, but 1 means a negative answer here.
        guard code != .failure else {
            StandardError.write("\(error)")
            return ToolStatus.software.rawValue
        }
        // The message is empty if the command has already reported why it ended.
        let message = type.fullMessage(for: error)
        guard !message.isEmpty else { return code.rawValue }
        guard code == .success else {
            StandardError.write(message)
            return code.rawValue
        }
        do throws(OutputError) { try StandardOutput.write(line: message) } catch {
            return try explain(error, of: type)
        }
        return code.rawValue
    }

    /// Raises the limit of open files: a door with many producers needs more than the usual 1,024, and libzmq ends the
    /// process if there is no descriptor for a connection.
    private static func allowManyFiles() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// Ends the process with SIGPIPE, as other programs do when their reader has gone.
    private static func endWithSIGPIPE() -> Never {
        signal(SIGPIPE, SIG_DFL)
        raise(SIGPIPE)
        exit(ToolStatus.inputOutput.rawValue)
    }
}

extension ParsableCommand {
    /// Refuses `help` with a name that is not a command. The argument parser would ignore this name, and show the help
    /// for the names before it.
    fileprivate static func checkHelp(_ arguments: [String]) throws(ValidationError) {
        guard arguments.first == "help" else { return }
        var command: any ParsableCommand.Type = self
        for name in arguments.drop(while: { $0 == "help" }) where !name.hasPrefix("-") {
            let subcommand = command.configuration.subcommands.first {
                $0._commandName == name || $0.configuration.aliases.contains(name)
            }
            guard let subcommand else {
                throw ValidationError("'\(command._commandName)' has no command '\(name.printable)'")
            }
            command = subcommand
        }
    }
}

/// A command that reloads its file on SIGHUP. If SIGHUP comes before the command watches for signals, the signal is
/// held back until then.
package protocol ReloadsOnHangup {}
