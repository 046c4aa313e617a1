import ArgumentParser
import Glibc
import PipelineRuntime

/// The programs of Belfry, for their `main`.
package enum Tool {
    /// `belfry-ingest`, the program of a source.
    package static func source<Kind: StageKind>(_ kind: Kind.Type) async -> Never {
        await run(IngestProgram<Kind>.self)
    }

    /// `belfry-match` and its like.
    package static func stage<Kind: DescribedStageKind>(_ kind: Kind.Type) async -> Never {
        await run(StageProgram<Kind>.self)
    }

    package static let version = "belfry 0.1"

    /// What the process was started with.
    package static var arguments: [String] { Array(CommandLine.arguments.dropFirst()) }

    package static func run<Command: AsyncParsableCommand>(
        _ type: Command.Type, _ arguments: [String] = Tool.arguments
    ) async -> Never {
        let hangup = StopSignals.hold(SIGHUP)
        StopSignals.ignore(SIGPIPE)
        // A file at the limit of its size is a full disk: the write fails, and that is dealt with.
        StopSignals.outlive(SIGXFSZ)
        allowManyFiles()
        do {
            exit(try await status(of: type, arguments) { hangup.release() })
        } catch {
            endQuietly()
        }
    }

    /// Runs a command inside another program, which says with ``StandardDescriptors`` where it reads and writes.
    ///
    /// - Parameter leavesHangup: Called before a command that does not go on at SIGHUP.
    /// - Returns: What a process would exit with.
    /// - Throws: `OutputError.closed`, when whoever reads what it prints has gone.
    package static func status<Command: AsyncParsableCommand>(
        of type: Command.Type, _ arguments: [String], leavesHangup: () -> Void = {}
    ) async throws(OutputError) -> Int32 {
        do {
            var command = try type.parseAsRoot(arguments)
            if !(command is any HangupTaker) { leavesHangup() }
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
            return ToolStatus.success.rawValue
        } catch OutputError.closed {
            throw .closed
        } catch {
            return try explain(error, of: type)
        }
    }

    /// Tells the user why a command ended.
    ///
    /// - Returns: What to exit with.
    private static func explain(_ error: any Error, of type: (some ParsableCommand).Type) throws(OutputError) -> Int32 {
        if let failure = ToolFailure(explaining: error) {
            if !failure.message.isEmpty { StandardError.write(failure.message) }
            return failure.status.rawValue
        }
        let code = type.exitCode(for: error)
        // What the argument parser does not know ends with 1, which here means "the answer is no".
        guard code != .failure else {
            StandardError.write("\(error)")
            return ToolStatus.software.rawValue
        }
        // Empty where a stage's program has said why it ended.
        let message = type.fullMessage(for: error)
        if !message.isEmpty {
            if code == .success { try StandardOutput.write(line: message) } else { StandardError.write(message) }
        }
        return code.rawValue
    }

    /// As many as the system lets us: a door with many producers is soon beyond the usual 1,024, and libzmq ends a process
    /// that has no descriptor left for a connection.
    private static func allowManyFiles() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// As every program does whose reader has gone.
    private static func endQuietly() -> Never {
        signal(SIGPIPE, SIG_DFL)
        raise(SIGPIPE)
        exit(ToolStatus.inputOutput.rawValue)
    }
}

/// A command that goes on at SIGHUP: one that comes before it watches for signals is for it as well.
package protocol HangupTaker {}
