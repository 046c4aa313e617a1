import Glibc
import PipelineKit
import Synchronization

/// Keeps a plugin's program running: started, watched, and started again after it ends, with growing pauses.
///
/// The program's standard input is a pipe that nothing is written to and that ends with this process, however that
/// ends: so a program knows that its host was killed. One that does not listen is ended by a ``PluginWatch``. What a
/// program prints goes to standard error: standard output is for our data.
final class PluginProcess: Sendable {
    private let command: [String]
    private let directory: String?
    private let name: String
    private let state = Mutex(State())

    private struct State {
        var isStopped = false
        var hasOpened = false
        /// How the program ended last, until the next has opened its link.
        var end: ChildProcess.Exit?
        var child: ChildProcess?
        /// Whether what the program ended on was taken out of its way.
        var isForgiven = false
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
    ///
    /// - Returns: How the one before it ended; nil where none has ended since the last that opened.
    func noteOpen() -> ChildProcess.Exit? {
        state.withLock { state in
            state.hasOpened = true
            return state.end.take()
        }
    }

    /// Whether the program has ended, and the next has not opened its link.
    var isDown: Bool { state.withLock { $0.end != nil } }

    /// What it ended on is taken out of its way: should it end again, that is for another reason.
    func forgetFailures() { state.withLock { $0.isForgiven = true } }

    private func takeForgiven() -> Bool {
        state.withLock { state in
            defer { state.isForgiven = false }
            return state.isForgiven
        }
    }

    private func takeHasOpened() -> Bool {
        state.withLock { state in
            defer { state.hasOpened = false }
            return state.hasOpened
        }
    }

    /// - Throws: ``ChildProcessError`` when the program cannot be started, or always ends before it opens its link.
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
            if takeForgiven() { pauses = RestartPauses() }
            let pause = pauses.next(ranFor: exit.ranFor)
            StandardError.write("\(name): the plugin's program \(exit.text); starting it again in \(pause)")
            do { try await Task.sleep(for: pause) } catch { return }
        }
    }

    private func brokenProgram(_ exit: ChildProcess.Exit) -> ChildProcessError {
        let times = "\(PluginProcess.failuresMax) times before it opened the link in BELFRY_LINK"
        return ChildProcessError(program: command.joined(separator: " "), reason: "it \(exit.text), \(times)")
    }
}

/// Ends a plugin's program that outlives this process: a process of its own, which does nothing until then.
///
/// The system could do that (`PR_SET_PDEATHSIG`), but `posix_spawn` cannot ask it to, and it takes the end of the
/// starting thread for the process's.
private struct PluginWatch {
    private let child: ChildProcess

    /// Waits for the end of its standard input, which is ours; asks the program to end, and kills it if it does not.
    private static let script = """
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

    /// The program has ended: its number may soon be another's.
    func end() async {
        child.signal(SIGKILL)
        _ = await child.wait()
    }
}

/// Pauses between restarts: they begin anew once a run has lasted.
struct RestartPauses {
    private static let pauses = DoublingWait(first: .milliseconds(100), most: .seconds(10))
    private static let lasting = Duration.seconds(10)
    private var restarts = 0

    mutating func next(ranFor: Duration) -> Duration {
        restarts = ranFor >= Self.lasting ? 1 : restarts + 1
        return Self.pauses.wait(after: restarts)
    }
}
