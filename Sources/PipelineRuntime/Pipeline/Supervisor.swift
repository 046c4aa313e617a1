import Foundation
import PipelineKit
import Synchronization
import ZeroMQ

/// Runs every stage of a pipeline as a process of its own, and restarts each process that ends. The pipeline's gateway,
/// if it has one, counts as a stage here.
///
/// If a stage refuses its configuration (exit status 78 or 64), all stages are stopped, because the stage would refuse
/// the configuration again.
package final class Supervisor: Sendable {
    /// An event in the life of a stage's process.
    package enum Event: Sendable {
        case started(stage: String, pid: Int32)
        /// `status` is nil if a signal ended the process.
        case ended(stage: String, status: Int32?, reason: String, restartIn: Duration)
        /// The stage refused its configuration. It is not started again.
        case refusedConfiguration(stage: String, status: Int32)
        case stopped(stage: String)
    }

    /// The command that starts a stage's process.
    package struct Program: Sendable {
        package var stage: String
        package var command: [String]

        package init(stage: String, command: [String]) {
            self.stage = stage
            self.command = command
        }
    }

    private let programs: [Program]
    private let observer: @Sendable (Event) -> Void
    private let state: Mutex<State>

    private struct State {
        var file: PipelineText?
        var isStopping = false
        var children: [String: ChildProcess] = [:]
        var failure: Int32?
    }

    static let grace = Duration.seconds(15)

    /// - Parameter file: The pipeline file's text, which every stage's process gets even if the file on disk changes
    ///   later. ``change(to:)`` replaces the text. Nil for programs that need no pipeline file.
    package init(
        _ programs: [Program], from file: PipelineText? = nil, observer: @escaping @Sendable (Event) -> Void
    ) {
        self.programs = programs
        self.observer = observer
        state = Mutex(State(file: file))
    }

    /// The processes that run now.
    package var pids: [String: Int32] { state.withLock { $0.children.mapValues(\.pid) } }

    /// Runs until every stage has ended: after ``stop()``, or after one stage refused its configuration.
    ///
    /// - Returns: The exit status of the stage that refused its configuration; 0 if no stage did.
    package func run() async throws -> Int32 {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for program in programs { group.addTask { try await self.keepRunning(program) } }
            defer { stop() }
            while try await group.next() != nil {}
        }
        return state.withLock { $0.failure ?? 0 }
    }

    /// Asks every stage to stop, and kills the stages that still run after ``grace``.
    package func stop() {
        let children = state.withLock { state in
            state.isStopping = true
            return state.children.values.map { $0 }
        }
        for child in children { child.signal(SIGTERM) }
        guard !children.isEmpty else { return }
        Task {
            try await Task.sleep(for: Supervisor.grace)
            for child in children { child.signal(SIGKILL) }
        }
    }

    /// Kills the process of every stage. Without an earlier ``stop()``, the processes are started again.
    package func kill() {
        for child in state.withLock({ Array($0.children.values) }) { child.signal(SIGKILL) }
    }

    private func keepRunning(_ program: Program) async throws {
        var pauses = RestartPauses()
        var end: ChildProcess.Exit?
        while !isStopping {
            let child = try await start(program, after: end)
            state.withLock { $0.children[program.stage] = child }
            if isStopping { stop() }
            observer(.started(stage: program.stage, pid: child.pid))
            let exit = await child.wait()
            state.withLock { $0.children[program.stage] = nil }
            guard !isStopping else { return observer(.stopped(stage: program.stage)) }
            if stopAllIfRefused(program, exit) { return }
            end = exit
            let pause = pauses.next(ranFor: exit.ranFor)
            let status = exit.wasSignalled ? nil : exit.status
            observer(.ended(stage: program.stage, status: status, reason: exit.text, restartIn: pause))
            await wait(for: pause)
        }
    }

    private func start(_ program: Program, after end: ChildProcess.Exit?) async throws -> ChildProcess {
        let file = state.withLock { $0.file }
        var environment = ["BELFRY_SUPERVISED": "1"]
        // If the stage sets an event aside, the event's dead letter says how the stage's previous process ended.
        if let end { environment["BELFRY_ENDED"] = end.text }
        let child = try ChildProcess(
            program.command, environment: environment, standard: .lifeline(output: STDOUT_FILENO))
        if let file {
            try await SocketThread.run(name: "start") { child.withSocket { $0.send(SupervisorMessage(file)) } }
        }
        return child
    }

    private var isStopping: Bool { state.withLock { $0.isStopping } }

    /// Stops all stages if the stage refused its configuration.
    ///
    /// - Returns: Whether the stage refused its configuration.
    private func stopAllIfRefused(_ program: Program, _ exit: ChildProcess.Exit) -> Bool {
        guard !exit.wasSignalled, exit.status == 78 || exit.status == 64 else { return false }
        state.withLock { $0.failure = exit.status }
        observer(.refusedConfiguration(stage: program.stage, status: exit.status))
        stop()
        return true
    }

    private func wait(for pause: Duration) async {
        let deadline = ContinuousClock.now + pause
        while !isStopping, .now < deadline {
            do { try await Task.sleep(for: min(.milliseconds(50), deadline - .now)) } catch { return }
        }
    }
}

// MARK: - Reloading

extension Supervisor {
    /// A stage's answer to another pipeline file.
    package enum Answer: Hashable, Sendable {
        case ready
        /// The stage has reported the reason.
        case refused
        /// The stage was not running, or ended before all stages had answered.
        case absent
    }

    /// Asks every stage whether it could switch to another file. If all could, all switch. Otherwise no stage does.
    ///
    /// After a switch, new processes are started from the new file. Only one call may run at a time.
    ///
    /// - Returns: Each stage's answer.
    package func change(to file: PipelineText) async throws -> [String: Answer] {
        let asked = state.withLock { $0.children }
        var answers = try await ask(asked, SupervisorMessage(file))
        let areAllReady = state.withLock { state in
            for (stage, child) in asked where state.children[stage] !== child { answers[stage] = .absent }
            guard answers.values.allSatisfy({ $0 == .ready }) else { return false }
            state.file = file
            return true
        }
        for child in asked.values { child.withSocket { $0.send(areAllReady ? .apply : .discard) } }
        return answers
    }

    private func ask(
        _ children: [String: ChildProcess], _ message: SupervisorMessage
    ) async throws -> [String: Answer] {
        try await withThrowingTaskGroup(of: (String, Answer).self) { group in
            for (stage, child) in children {
                group.addTask { (stage, try await self.ask(child, message)) }
            }
            let absent = Dictionary(uniqueKeysWithValues: programs.map { ($0.stage, Answer.absent) })
            return try await group.reduce(into: absent) { $0[$1.0] = $1.1 }
        }
    }

    private func ask(_ child: ChildProcess, _ message: SupervisorMessage) async throws -> Answer {
        try await SocketThread.run(name: "ask") {
            child.withSocket { socket in
                socket.send(message)
                return socket.receiveAnswer().map { $0 ? .ready : .refused } ?? .absent
            }
        }
    }
}

extension SupervisorMessage {
    init(_ file: PipelineText) { self = .file(folder: file.folder, text: file.text) }
}
