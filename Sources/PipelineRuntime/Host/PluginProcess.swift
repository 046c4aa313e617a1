import Foundation
import PipelineKit
import Synchronization

/// Keeps a plugin's program running: started, watched, and started again after it ends, with growing pauses.
///
/// The program's standard input is a pipe that nothing is written to and that ends with this process, however that
/// ends: a program that watches it does not outlive a host that was killed.
final class PluginProcess: Sendable {
    private let command: [String]
    private let directory: String?
    private let name: String
    private let state = Mutex(State())

    private struct State {
        var isStopped = false
        var hasOpened = false
        var child: ChildProcess?
    }

    init(_ command: [String], directory: String?, name: String) {
        self.command = command
        self.directory = directory
        self.name = name
    }

    /// How long the program may take to end before it is killed.
    static let grace = Duration.seconds(5)

    /// Asks the program to end, and kills it where it does not listen.
    func stop() {
        let child = state.withLock { state -> ChildProcess? in
            state.isStopped = true
            return state.child
        }
        guard let child else { return }
        child.signal(SIGTERM)
        Task {
            try await Task.sleep(for: PluginProcess.grace)
            child.signal(SIGKILL)
        }
    }

    /// Ends in a row without the link opened, after which the program is taken to be broken.
    private static let failuresMax = 5

    /// The program has opened its link: it works.
    func noteOpen() { state.withLock { $0.hasOpened = true } }

    private func takeHasOpened() -> Bool {
        state.withLock { state in
            defer { state.hasOpened = false }
            return state.hasOpened
        }
    }

    /// - Throws: ``ChildProcessError`` when the program cannot be started, or always ends before it opens its link.
    func keepRunning(endpoint: String) async throws {
        var backOff = BackOff()
        var failures = 0
        while !state.withLock({ $0.isStopped }) {
            let child = try ChildProcess(
                command, directory: directory, environment: ["BELFRY_LINK": endpoint, "BELFRY_STAGE": name])
            state.withLock { $0.child = child }
            if state.withLock({ $0.isStopped }) { child.signal(SIGTERM) }
            let exit = await child.wait()
            guard !state.withLock({ $0.isStopped }) else { return }
            failures = takeHasOpened() ? 0 : failures + 1
            guard failures < PluginProcess.failuresMax else { throw brokenProgram(exit) }
            let pause = backOff.next(ranFor: exit.ranFor)
            StandardError.write("\(name): the plugin's program \(exit.text); starting it again in \(pause)")
            do { try await Task.sleep(for: pause) } catch { return }
        }
    }

    private func brokenProgram(_ exit: ChildProcess.Exit) -> ChildProcessError {
        let times = "\(PluginProcess.failuresMax) times before it opened the link in BELFRY_LINK"
        return ChildProcessError(program: command.joined(separator: " "), reason: "it \(exit.text), \(times)")
    }
}

/// Pauses between restarts: doubled each time, forgotten once a run has lasted.
struct BackOff {
    static let first = Duration.milliseconds(100)
    static let last = Duration.seconds(10)
    static let lasting = Duration.seconds(10)
    private var pause = BackOff.first

    mutating func next(ranFor: Duration) -> Duration {
        if ranFor >= BackOff.lasting { pause = BackOff.first }
        defer { pause = min(pause * 2, BackOff.last) }
        return pause
    }
}
