import Foundation
import PipelineKit
import Synchronization

/// Runs every stage of a pipeline as a process of its own, and starts again those that end.
///
/// A stage that refuses its configuration (exit 78 or 64) would refuse it again: then all are stopped.
public final class Supervisor: Sendable {
    /// What happened to a stage's process.
    public enum Event: Sendable {
        case started(stage: String, pid: Int32)
        /// `status` is nil where a signal ended it.
        case ended(stage: String, status: Int32?, reason: String, restartIn: Duration)
        case gaveUp(stage: String, status: Int32)
        case stopped(stage: String)
    }

    /// How a stage's process is started.
    public struct Program: Sendable {
        public var stage: String
        public var command: [String]

        public init(stage: String, command: [String]) {
            self.stage = stage
            self.command = command
        }
    }

    private let programs: [Program]
    private let observer: @Sendable (Event) -> Void
    private let state = Mutex(State())

    private struct State {
        var isStopping = false
        var children: [String: ChildProcess] = [:]
        var failure: Int32?
    }

    /// How long a stage may take to stop before it is killed.
    static let grace = Duration.seconds(15)

    public init(_ programs: [Program], observer: @escaping @Sendable (Event) -> Void) {
        self.programs = programs
        self.observer = observer
    }

    /// The processes that run now.
    public var pids: [String: Int32] { state.withLock { $0.children.mapValues(\.pid) } }

    /// Returns when every stage has ended after ``stop()``, or after one gave up.
    ///
    /// - Returns: The exit status to pass on: 0, or that of the stage that gave up.
    public func run() async throws -> Int32 {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for program in programs { group.addTask { try await self.keepRunning(program) } }
            defer { stop() }
            while try await group.next() != nil {}
        }
        return state.withLock { $0.failure ?? 0 }
    }

    /// Asks every stage to stop; those that do not are killed after a grace period.
    public func stop() {
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

    /// Passes a signal on to those of the stages that run now.
    public func signal(_ number: Int32, to stages: [String]) {
        let children = state.withLock { state in stages.compactMap { state.children[$0] } }
        for child in children { child.signal(number) }
    }

    /// Ends every stage at once.
    public func kill() {
        for child in state.withLock({ Array($0.children.values) }) { child.signal(SIGKILL) }
    }

    private func keepRunning(_ program: Program) async throws {
        var backOff = BackOff()
        while !isStopping {
            let child = try ChildProcess(
                program.command, environment: ["BELFRY_SUPERVISED": "1"], standard: .lifeline(output: STDOUT_FILENO))
            state.withLock { $0.children[program.stage] = child }
            if isStopping { stop() }
            observer(.started(stage: program.stage, pid: child.pid))
            let exit = await child.wait()
            state.withLock { $0.children[program.stage] = nil }
            guard !isStopping else { return observer(.stopped(stage: program.stage)) }
            if giveUp(program, after: exit) { return }
            let pause = backOff.next(ranFor: exit.ranFor)
            let status = exit.wasSignalled ? nil : exit.status
            observer(.ended(stage: program.stage, status: status, reason: exit.text, restartIn: pause))
            await rest(pause)
        }
    }

    private var isStopping: Bool { state.withLock { $0.isStopping } }

    private func giveUp(_ program: Program, after exit: ChildProcess.Exit) -> Bool {
        guard !exit.wasSignalled, exit.status == 78 || exit.status == 64 else { return false }
        state.withLock { $0.failure = exit.status }
        observer(.gaveUp(stage: program.stage, status: exit.status))
        stop()
        return true
    }

    private func rest(_ pause: Duration) async {
        let limit = ContinuousClock.now + pause
        while !isStopping, .now < limit {
            do { try await Task.sleep(for: min(.milliseconds(50), limit - .now)) } catch { return }
        }
    }
}
