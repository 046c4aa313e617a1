import BuiltIns
import Glibc
import PipelineKit
import PipelineRuntime
import Synchronization
import WebServices
import ZeroMQ

/// The stages of a pipeline and its gateway as processes, as `belfry up` starts them. After a process has
/// ended unexpectedly, ``check()`` throws.
final class StageProcesses: Sendable {
    let plans: [HostPlan]
    let context: HostContext
    let checked: CheckedPipeline
    private let programs: [Supervisor.Program]
    private let text: PipelineText
    private let failure = FirstFailure()

    init(_ checked: CheckedPipeline) throws {
        let context = try HostContext()
        let surroundings = HostSurroundings(registry: .builtIns, context: context)
        let stages = checked.file.stagesInOrder
        let belfry = try SiblingProgram("belfry").path
        self.context = context
        text = try PipelineText(path: checked.path)
        plans = try stages.map { try StageHost($0, of: checked.file, in: surroundings).plan }
        self.checked = checked
        programs =
            stages.map { StagePrograms(belfry: belfry).program(for: $0, pipeline: checked.path) }
            + [checked.gatewayProgram(belfry: belfry)].compactMap(\.self)
    }

    /// Starts the processes, runs `body` on a thread when all are ready, and then stops them.
    ///
    /// - Parameter body: Called with the process ID of each stage, in the order of the pipeline, and of the gateway.
    func whileRunning<Result: Sendable>(
        _ interruption: Interruption, _ body: @escaping @Sendable ([Int32]) throws -> Result
    ) async throws -> Result {
        let supervisor = Supervisor(programs, from: text) { [failure] in failure.note($0) }
        async let running = supervisor.run()
        do {
            let result = try await SocketThread.run(name: "bench") { [self] in
                try waitUntilReady(supervisor, interruption)
                return try body(programs.map { supervisor.pids[$0.stage] ?? 0 })
            }
            supervisor.stop()
            _ = try await running
            return result
        } catch {
            supervisor.stop()
            _ = try await running
            throw error
        }
    }

    /// - Throws: ``ToolFailure`` after a process has ended unexpectedly.
    func check() throws { try failure.check() }

    private func waitUntilReady(_ supervisor: Supervisor, _ interruption: Interruption) throws {
        for plan in plans {
            let probe = try StageProbe(plan, context)
            try wait(interruption) { try probe.ask()?.isRunning == true }
        }
        guard checked.file.api != nil else { return }
        try wait(interruption) {
            let pid = supervisor.pids[PipelineFile.gatewayName]
            return try pid.flatMap { try checked.gatewayPort(process: $0) } != nil
        }
    }

    private func wait(_ interruption: Interruption, until isMet: () throws -> Bool) throws {
        while try !isMet() {
            try interruption.check()
            try check()
            usleep(1_000)
        }
    }
}

/// Which process ended first, and why.
private final class FirstFailure: Sendable {
    private let reason = Mutex<String?>(nil)

    func note(_ event: Supervisor.Event) {
        switch event {
        case .ended(let stage, _, let text, _): note("\(stage) \(text) during the run")
        case .refusedConfiguration(let stage, let status):
            note("\(stage) exited with status \(status) during the run")
        case .started, .stopped: return
        }
    }

    private func note(_ text: String) { reason.withLock { $0 = $0 ?? text } }

    func check() throws {
        if let reason = reason.withLock({ $0 }) { throw ToolFailure(.software, reason) }
    }
}
