import BuiltIns
import Glibc
import PipelineKit
import PipelineRuntime
import Synchronization

/// `belfry up`: every stage as a process. On SIGHUP they read the pipeline file again.
final class SupervisedUp: Sendable {
    /// A stage that ends this often before it was ever ready will not get ready.
    private static let failuresMax = 4

    private let context: HostContext
    private let path: String
    private let plans: [HostPlan]
    private let readiness = Readiness()
    private let state = Mutex(State())
    private let programs: [Supervisor.Program]

    private struct State {
        var ready: Set<String> = []
        var failures: [String: Int] = [:]
        var status: Int32 = 0
        var supervisor: Supervisor?
        var isStopping = false
    }

    init(_ checked: CheckedPipeline) throws {
        context = try HostContext()
        path = checked.path
        let surroundings = HostSurroundings(registry: .builtIns, context: context)
        let stages = checked.file.stagesInOrder
        plans = try stages.map { try StageHost($0, of: checked.file, in: surroundings).plan }
        let programs = StagePrograms()
        self.programs = stages.map { programs.program(for: $0, pipeline: checked.path) }
    }

    /// - Returns: The exit status.
    func run() async throws -> Int32 {
        let supervisor = Supervisor(programs) { [weak self] in self?.take($0) }
        state.withLock { $0.supervisor = supervisor }
        watchSignals(supervisor)
        let announcing = Task { try await announce() }
        let status = try await supervisor.run()
        readiness.stop()
        try await announcing.value
        let own = state.withLock { $0.status }
        return own != 0 ? own : status
    }

    private func watchSignals(_ supervisor: Supervisor) {
        let terminal = Terminal()
        StopSignals.watch([SIGINT, SIGTERM, SIGHUP]) { [self] number, _ in
            if number == SIGHUP, !terminal.isGone {
                return reload(supervisor)
            }
            if isStopping, number == SIGINT { return kill(supervisor) }
            StandardError.write(StopSignals.announcement(number))
            stop()
        }
    }

    /// Checks the whole file, and has the stages read it again.
    private func reload(_ supervisor: Supervisor) {
        do {
            let checked = try CheckedPipeline(path: path)
            try checked.checkKeys()
            let (old, new) = (plans.map(\.stage), checked.file.stagesInOrder.map(\.name))
            for stage in new where !old.contains(stage) {
                StandardError.write("\(stage): new in \(path); it takes a restart of belfry up")
            }
            for stage in old where !new.contains(stage) {
                StandardError.write("\(stage): gone from \(path); it runs until a restart of belfry up")
            }
            StandardError.write("\(path) is valid; the stages read it again")
            supervisor.signal(SIGHUP, to: old.filter(new.contains))
        } catch {
            StandardError.write(
                (ToolFailure(explaining: error)?.message ?? "\(error)") + "\nall goes on with the settings of before")
        }
    }

    private func stop() {
        readiness.stop()
        state.withLock { state in
            state.isStopping = true
            return state.supervisor
        }?.stop()
    }

    private var isStopping: Bool { state.withLock { $0.isStopping } }

    private func kill(_ supervisor: Supervisor) {
        StandardError.write("killing the stages")
        supervisor.kill()
    }

    private func announce() async throws {
        var isComplete = true
        for plan in plans {
            let health = try await readiness.wait(for: plan, context) { [self] in $0.pid == pid(of: plan.stage) }
            guard let health else {
                isComplete = false
                break
            }
            state.withLock { _ = $0.ready.insert(plan.stage) }
            StandardError.write("\(plan.stage): ready, process \(health.pid), log \(health.log) at \(health.last)")
        }
        if isComplete { StandardError.write("ready") }
    }

    private func pid(of stage: String) -> Int64? {
        state.withLock { $0.supervisor }?.pids[stage].map(Int64.init)
    }

    private func take(_ event: Supervisor.Event) {
        switch event {
        case .started(let stage, let pid):
            if state.withLock({ $0.failures[stage] != nil }) {
                StandardError.write("\(stage): started again, process \(pid)")
            }
        case .ended(let stage, let status, let reason, let pause):
            StandardError.write("\(stage): \(reason); starting it again in \(pause.text)")
            if fails(stage, status) { giveUp(stage, status) }
        case .gaveUp(let stage, _): StandardError.write("\(stage): cannot run with this configuration; stopping")
        case .stopped: return
        }
    }

    /// Whether a stage that has never been ready has ended too often.
    private func fails(_ stage: String, _ status: Int32?) -> Bool {
        state.withLock { state in
            state.failures[stage, default: 0] += 1
            return !state.ready.contains(stage) && state.failures[stage, default: 0] >= SupervisedUp.failuresMax
        }
    }

    private func giveUp(_ stage: String, _ status: Int32?) {
        StandardError.write("\(stage): ended \(SupervisedUp.failuresMax) times without getting ready; stopping")
        state.withLock { $0.status = status ?? ToolStatus.software.rawValue }
        stop()
    }
}
