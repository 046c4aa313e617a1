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

    func keepRunning(endpoint: String) async throws {
        var backOff = BackOff()
        while !state.withLock({ $0.isStopped }) {
            let child = try ChildProcess(
                command, directory: directory, environment: ["BELFRY_LINK": endpoint, "BELFRY_STAGE": name])
            state.withLock { $0.child = child }
            if state.withLock({ $0.isStopped }) { child.signal(SIGTERM) }
            let exit = await child.wait()
            guard !state.withLock({ $0.isStopped }) else { return }
            let pause = backOff.next(ranFor: exit.ranFor)
            StandardError.write("\(name): the plugin's program \(exit.text); starting it again in \(pause)")
            try await Task.sleep(for: pause)
        }
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
