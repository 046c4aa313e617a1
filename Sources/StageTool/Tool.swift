import ArgumentParser
import Glibc
import PipelineRuntime

/// The programs of Belfry, for their `main`.
package enum Tool {
    /// `belfry-ingest`.
    package static func ingest<Linked: LinkedStages>(_ linked: Linked.Type) async -> Never {
        await run(IngestProgram<Linked>.self)
    }

    /// `belfry-match`.
    package static func match<Linked: LinkedStages>(_ linked: Linked.Type) async -> Never {
        await run(StageProgram<MatchProgram, Linked>.self)
    }

    /// `belfry-coalesce`.
    package static func coalesce<Linked: LinkedStages>(_ linked: Linked.Type) async -> Never {
        await run(StageProgram<CoalesceProgram, Linked>.self)
    }

    /// `belfry-payload`.
    package static func payload<Linked: LinkedStages>(_ linked: Linked.Type) async -> Never {
        await run(StageProgram<PayloadProgram, Linked>.self)
    }

    /// `belfry-deliver`.
    package static func deliver<Linked: LinkedStages>(_ linked: Linked.Type) async -> Never {
        await run(StageProgram<DeliverProgram, Linked>.self)
    }

    package static func run<Command: AsyncParsableCommand>(_ type: Command.Type) async -> Never {
        let hangup = StopSignals.hold(SIGHUP)
        StopSignals.ignore(SIGPIPE)
        // A file at the limit of its size is a full disk: the write fails, and that is dealt with.
        StopSignals.outlive(SIGXFSZ)
        allowManyFiles()
        do {
            var command = try type.parseAsRoot()
            if !(command is any HangupTaker) { hangup.release() }
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
            exit(ToolStatus.success.rawValue)
        } catch {
            end(type, with: error)
        }
    }

    /// As many as the system lets us: a door with many producers is soon beyond the usual 1,024, and libzmq ends a process
    /// that has no descriptor left for a connection.
    private static func allowManyFiles() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    private static func end(_ type: (some ParsableCommand).Type, with error: any Error) -> Never {
        if error as? OutputError == .closed { endQuietly() }
        guard let failure = ToolFailure(explaining: error) else {
            // What the argument parser does not know ends with 1, which here means "the answer is no".
            guard type.exitCode(for: error) == .failure else { type.exit(withError: error) }
            StandardError.write("\(error)")
            exit(ToolStatus.software.rawValue)
        }
        if !failure.message.isEmpty { StandardError.write(failure.message) }
        exit(failure.status.rawValue)
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
