import Glibc
import PipelineKit
import Synchronization

/// Keeps a plugin's program running: starts it, watches it, and restarts it after growing pauses.
///
/// The program's standard input is a socket that closes when this process ends, even by a crash. So a program notices
/// that its host is gone. A ``PluginWatch`` ends a program that still runs after this process has ended, for example
/// because it does not read its input. The program's standard output goes to standard error, because the host's
/// standard output is for data.
final class PluginProcess: Sendable {
    private let command: [String]
    private let directory: String?
    private let name: String
    private let state = Mutex(State())

    private struct State {
        var isStopped = false
        var hasOpened = false
        /// How the last run of the program ended, until the next run opens its link.
        var end: ChildProcess.Exit?
        var child: ChildProcess?
        /// Whether the event that the program crashed on was set aside since the program's last end.
        var hasSetAside = false
    }

    init(_ command: [String], directory: String?, name: String) {
        self.command = command
        self.directory = directory
        self.name = name
    }

    static let grace = Duration.seconds(5)

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

    /// After this many runs in a row that end without opening the link, the program is not started again.
    private static let failuresMax = 5

    /// Notes that the program has opened its link.
    ///
    /// - Returns: How the previous run of the program ended; nil if no run has ended since the last call.
    func noteOpen() -> ChildProcess.Exit? {
        state.withLock { state in
            state.hasOpened = true
            return state.end.take()
        }
    }

    var isDown: Bool { state.withLock { $0.end != nil } }

    /// Notes that the event on which the program crashed was set aside. The next pause is the shortest again.
    func noteSetAside() { state.withLock { $0.hasSetAside = true } }

    private func takeHasSetAside() -> Bool {
        state.withLock { state in
            defer { state.hasSetAside = false }
            return state.hasSetAside
        }
    }

    private func takeHasOpened() -> Bool {
        state.withLock { state in
            defer { state.hasOpened = false }
            return state.hasOpened
        }
    }

    /// Runs the program, again and again, until ``stop()``.
    ///
    /// - Throws: ``ChildProcessError`` if the program cannot be started, or repeatedly ends before it opens its link.
    func keepRunning(endpoint: String) async throws {
        var pauses = RestartPauses()
        var failures = 0
        while !state.withLock({ $0.isStopped }) {
            let child = try ChildProcess(
                command, directory: directory, environment: ["BELFRY_LINK": endpoint, "BELFRY_STAGE": name],
                standard: .lifeline(output: STDERR_FILENO))
            state.withLock { $0.child = child }
            if state.withLock({ $0.isStopped }) { stop() }
            let watch = try PluginWatch(child)
            let exit = await child.wait()
            await watch.end()
            guard !state.withLock({ $0.isStopped }) else { return }
            state.withLock { $0.end = exit }
            failures = takeHasOpened() ? 0 : failures + 1
            guard failures < PluginProcess.failuresMax else { throw brokenProgram(exit) }
            if takeHasSetAside() { pauses = RestartPauses() }
            let pause = pauses.next(ranFor: exit.ranFor)
            StandardError.write("\(name): the plugin's program \(exit.text); starting it again in \(pause)")
            do { try await Task.sleep(for: pause) } catch { return }
        }
    }

    private func brokenProgram(_ exit: ChildProcess.Exit) -> ChildProcessError {
        let times = "it ended \(PluginProcess.failuresMax) times in a row before it opened the link in BELFRY_LINK"
        return ChildProcessError(
            program: command.joined(separator: " "), reason: "\(times); the last time it \(exit.text)")
    }
}

/// A small process that ends a plugin's program after the host's process has ended.
///
/// `PR_SET_PDEATHSIG` cannot replace this small process. `posix_spawn` cannot set `PR_SET_PDEATHSIG`, and its signal
/// comes when the thread that started the program ends, not when the host's process ends.
private struct PluginWatch {
    private let child: ChildProcess

    /// Waits until its standard input closes, that is, until the host's process ends. Then stops the program, and kills
    /// it if it still runs five seconds later. Ctrl-C in a terminal also reaches the shell that runs this script, and
    /// must not end it.
    private static let script = """
        trap '' INT QUIT HUP
        read -r _
        kill -TERM "$0" || exit 0
        for _ in 1 2 3 4 5; do sleep 1; kill -0 "$0" || exit 0; done
        kill -KILL "$0"
        """

    init(_ program: ChildProcess) throws(ChildProcessError) {
        let script = "exec 2>/dev/null\n" + PluginWatch.script
        child = try ChildProcess(
            ["/bin/sh", "-c", script, "\(program.pid)"], standard: .lifeline(output: STDERR_FILENO))
    }

    /// Ends the watch. Call this at once when the program has ended, because its process number may soon belong to
    /// another process.
    func end() async {
        child.signal(SIGKILL)
        _ = await child.wait()
    }
}

/// Growing pauses between restarts. After a run of at least ``lasting``, the next pause is the shortest again.
struct RestartPauses {
    private static let pauses = DoublingWait(first: .milliseconds(100), most: .seconds(10))
    private static let lasting = Duration.seconds(10)
    private var restarts = 0

    mutating func next(ranFor: Duration) -> Duration {
        restarts = ranFor >= Self.lasting ? 1 : restarts + 1
        return Self.pauses.wait(after: restarts)
    }
}
