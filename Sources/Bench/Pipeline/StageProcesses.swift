import BuiltIns
import PipelineKit
import PipelineRuntime
import Synchronization
import ZeroMQ

/// The stages of a pipeline as processes, as `belfry up` starts them. A stage that ends makes the run fail.
final class StageProcesses: Sendable {
    let plans: [HostPlan]
    let context: HostContext
    private let programs: [Supervisor.Program]
    private let text: PipelineText
    private let failure = FirstFailure()

    init(_ checked: CheckedPipeline) throws {
        let context = try HostContext()
        let surroundings = HostSurroundings(registry: .builtIns, context: context)
        let stages = checked.file.stagesInOrder
        let belfry = StagePrograms(belfry: try SiblingProgram("belfry").path)
        self.context = context
        text = try PipelineText(path: checked.path)
        plans = try stages.map { try StageHost($0, of: checked.file, in: surroundings).plan }
        programs = stages.map { belfry.program(for: $0, pipeline: checked.path) }
    }

    /// Starts the stages, runs `body` on a thread when all stages are ready, and then stops the stages.
    ///
    /// - Parameter body: Called with the process ID of each stage, in the order of the pipeline.
    func whileRunning<Result: Sendable>(
        _ interruption: Interruption, _ body: @escaping @Sendable ([Int32]) throws -> Result
    ) async throws -> Result {
        let supervisor = Supervisor(programs, from: text) { [failure] in failure.note($0) }
        async let running = supervisor.run()
        do {
            let result = try await SocketThread.run(name: "bench") { [self] in
                try waitUntilReady(interruption)
                return try body(plans.map { supervisor.pids[$0.stage] ?? 0 })
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

    /// - Throws: ``ToolFailure`` after a stage has ended.
    func check() throws { try failure.check() }

    private func waitUntilReady(_ interruption: Interruption) throws {
        for plan in plans {
            let probe = try StageProbe(plan, context)
            while try probe.positions()?.isRunning != true {
                try interruption.check()
                try check()
            }
        }
    }
}

/// Why the first process ended.
private final class FirstFailure: Sendable {
    private let reason = Mutex<String?>(nil)

    func note(_ event: Supervisor.Event) {
        switch event {
        case .ended(let stage, _, let text, _): note("\(stage) \(text) during the run")
        case .gaveUp(let stage, let status): note("\(stage) exited with status \(status) during the run")
        case .started, .stopped: return
        }
    }

    private func note(_ text: String) { reason.withLock { $0 = $0 ?? text } }

    func check() throws {
        if let reason = reason.withLock({ $0 }) { throw ToolFailure(.software, reason) }
    }
}
