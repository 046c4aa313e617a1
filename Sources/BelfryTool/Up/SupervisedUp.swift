import BuiltIns
import Glibc
import PipelineKit
import PipelineRuntime
import Synchronization
import WebServices
import ZeroMQ

/// `belfry up`: runs every stage as a process, and reloads the pipeline file on SIGHUP.
final class SupervisedUp: Sendable {
    /// A stage that ends this many times before it is ready stops the whole pipeline.
    private static let failuresMax = 4

    private let context: HostContext
    let text: PipelineText
    private let plans: [HostPlan]
    private let readiness = Readiness()
    let state: Mutex<State>
    private let programs: [Supervisor.Program]
    /// Nil if the pipeline has no gateway.
    private let gatewayFolder: String?
    /// Whether the stages go on without the gateway. The stages of a host do, because the gateways of other hosts need
    /// them.
    private let isGatewayOptional: Bool

    struct State {
        var ready: Set<String> = []
        var failures: [String: Int] = [:]
        var status: Int32 = 0
        var file: PipelineFile
        var supervisor: Supervisor?
        var isStopping = false
    }

    init(_ checked: CheckedPipeline, _ text: PipelineText) throws {
        context = try HostContext()
        self.text = text
        state = Mutex(State(file: checked.file))
        let surroundings = HostSurroundings(registry: .builtIns, context: context)
        let stages = checked.file.stagesOfHost
        plans = try stages.map { try StageHost($0, of: checked.file, in: surroundings).plan }
        let programs = StagePrograms()
        self.programs =
            stages.map { programs.program(for: $0, pipeline: checked.path, host: checked.file.host?.name) }
            + (checked.file.runsGateway ? [checked.gatewayProgram()].compactMap(\.self) : [])
        isGatewayOptional = checked.file.host != nil
        gatewayFolder = try checked.file.runsGateway ? checked.gatewayFolder() : nil
    }

    func run() async throws -> Int32 {
        let supervisor = Supervisor(programs, from: text) { [weak self] in self?.handle($0) }
        state.withLock { $0.supervisor = supervisor }
        // Several signals before a reload starts cause one reload. Several signals during a reload cause one more.
        let (hangups, hangup) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        watchSignals(supervisor, hangup)
        let announcingStages = Task { try await announceStages() }
        let announcing = Task {
            if try await announcingStages.value, try await waitForGateway() { StandardError.write("ready") }
        }
        let reloading = Task {
            _ = try await announcingStages.value
            if !isGatewayOptional { try await announcing.value }
            for await _ in hangups { await reload(supervisor) }
        }
        defer { reloading.cancel() }
        let status = try await supervisor.run()
        // `isStopping` is not set yet if the pipeline stopped because a program refused its configuration.
        state.withLock { $0.isStopping = true }
        readiness.stop()
        try await announcing.value
        let own = state.withLock { $0.status }
        return own != 0 ? own : status
    }

    private func watchSignals(_ supervisor: Supervisor, _ hangup: AsyncStream<Void>.Continuation) {
        let terminal = Terminal()
        StopSignals.watch([SIGINT, SIGTERM, SIGHUP]) { [self] number, _ in
            if number == SIGHUP, !terminal.isClosed {
                hangup.yield()
                return
            }
            if isStopping, number == SIGINT { return kill(supervisor) }
            StandardError.write(StopSignals.announcement(number))
            stop()
        }
    }

    private func stop() {
        readiness.stop()
        state.withLock { state in
            state.isStopping = true
            return state.supervisor
        }?.stop()
    }

    var isStopping: Bool { state.withLock { $0.isStopping } }

    private func kill(_ supervisor: Supervisor) {
        StandardError.write("killing the stages")
        supervisor.kill()
    }

    /// - Returns: False if the pipeline stops before all stages are ready.
    private func announceStages() async throws -> Bool {
        for plan in plans {
            let health = try await readiness.wait(for: plan, context) { [self] in $0.pid == pid(of: plan.stage) }
            guard let health else { return false }
            state.withLock { _ = $0.ready.insert(plan.stage) }
            let state = health.isRunning ? "ready" : "standing by"
            StandardError.write("\(plan.stage): \(state), process \(health.pid), log \(health.log) at \(health.last)")
        }
        return true
    }

    /// - Returns: False if the pipeline stops before the gateway accepts requests.
    private func waitForGateway() async throws -> Bool {
        guard let gatewayFolder else { return true }
        while !isStopping {
            if let pid = pid(of: PipelineFile.gatewayName),
                try GatewayFile.port(in: gatewayFolder, process: Int32(pid)) != nil
            {
                state.withLock { _ = $0.ready.insert(PipelineFile.gatewayName) }
                return true
            }
            try await Task.sleep(for: .milliseconds(25))
        }
        return false
    }

    private func pid(of stage: String) -> Int64? {
        state.withLock { $0.supervisor }?.pids[stage].map(Int64.init)
    }

    private func handle(_ event: Supervisor.Event) {
        switch event {
        case .started(let stage, let pid):
            if state.withLock({ $0.failures[stage] != nil }) {
                StandardError.write("\(stage): started again, process \(pid)")
            }
        case .ended(let stage, let status, let reason, let pause):
            let givesUp = countEnd(of: stage)
            StandardError.write("\(stage): \(reason)" + (givesUp ? "" : "; starting it again in \(pause.text)"))
            if givesUp { giveUp(stage, status) }
        case .refusedConfiguration(let stage, _):
            StandardError.write("\(stage): cannot run with this configuration; stopping")
        case .stopped: return
        }
    }

    /// Counts one more end of a stage.
    ///
    /// - Returns: Whether the stage was never ready and has ended ``failuresMax`` times. Never for an optional gateway.
    private func countEnd(of stage: String) -> Bool {
        let isOptional = isGatewayOptional && stage == PipelineFile.gatewayName
        return state.withLock { state in
            state.failures[stage, default: 0] += 1
            return !isOptional && !state.ready.contains(stage)
                && state.failures[stage, default: 0] >= SupervisedUp.failuresMax
        }
    }

    private func giveUp(_ stage: String, _ status: Int32?) {
        StandardError.write("\(stage): ended \(SupervisedUp.failuresMax) times before it was ready; stopping")
        state.withLock { $0.status = status ?? ToolStatus.software.rawValue }
        stop()
    }
}
