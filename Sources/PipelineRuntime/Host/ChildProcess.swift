import Foundation
import Synchronization

/// A child process: started at once, waited for without blocking a thread of the pool.
///
/// Standard output and error are ours. Standard input is a pipe that nothing is written to: it ends when this process
/// does, however that happens, so a child that watches it never outlives us.
package final class ChildProcess: Sendable {
    package struct Exit: Sendable, Hashable {
        package var status: Int32
        package var wasSignalled: Bool
        package var ranFor: Duration

        package var text: String { wasSignalled ? "was ended by signal \(status)" : "exited with status \(status)" }
    }

    package let pid: Int32
    private let started = ContinuousClock.now
    private let state: Mutex<State>
    private let lifeline: Pipe

    private struct State {
        var exit: Exit?
        var waiters: [CheckedContinuation<Exit, Never>] = []
    }

    package init(_ command: [String], directory: String?, environment: [String: String]) throws {
        guard let program = command.first.flatMap({ ChildProcess.find($0) }) else {
            throw ChildProcessError(
                program: command.first ?? "", reason: "no such program, neither as a path nor in PATH")
        }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = Array(command.dropFirst())
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        if let directory { process.currentDirectoryURL = URL(fileURLWithPath: directory) }
        let lifeline = Pipe()
        process.standardInput = lifeline
        let ended = AsyncStream.makeStream(of: (Int32, Bool).self)
        process.terminationHandler = {
            ended.continuation.yield(($0.terminationStatus, $0.terminationReason == .uncaughtSignal))
        }
        do { try ChildProcess.withAllSignals { try process.run() } } catch {
            throw ChildProcessError(program: program, reason: "\(error.localizedDescription)")
        }
        pid = process.processIdentifier
        self.lifeline = lifeline
        state = Mutex(State())
        Task { for await (status, wasSignalled) in ended.stream.prefix(1) { self.end(status, wasSignalled) } }
    }

    /// A child inherits the signals that the starting thread has blocked, and the threads of Swift's pool block most,
    /// SIGTERM among them.
    package static func withAllSignals(_ start: () throws -> Void) rethrows {
        var none = sigset_t()
        var before = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try start()
    }

    package func signal(_ number: Int32) {
        state.withLock { if $0.exit == nil { kill(pid, number) } }
    }

    package func wait() async -> Exit {
        await withCheckedContinuation { continuation in
            let exit = state.withLock { state -> Exit? in
                if state.exit == nil { state.waiters.append(continuation) }
                return state.exit
            }
            if let exit { continuation.resume(returning: exit) }
        }
    }

    private func end(_ status: Int32, _ wasSignalled: Bool) {
        let exit = Exit(status: status, wasSignalled: wasSignalled, ranFor: .now - started)
        let waiters = state.withLock { state in
            state.exit = exit
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume(returning: exit) }
    }

    /// Where a program lies that is given as a path or by a name in PATH.
    static func find(_ program: String) -> String? {
        if program.contains("/") { return FileManager.default.isExecutableFile(atPath: program) ? program : nil }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"
        return path.split(separator: ":").map { "\($0)/\(program)" }.first {
            FileManager.default.isExecutableFile(atPath: $0)
        }
    }
}

package struct ChildProcessError: Error, CustomStringConvertible {
    package let program: String
    package let reason: String

    package var description: String { "cannot start \(program): \(reason)" }
}
