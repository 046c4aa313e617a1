import BuiltIns
import Glibc
import PipelineRuntime
import Synchronization
import WebServices

/// `belfry up --in-process`: every stage on a thread of this process.
struct InProcessUp {
    private let process: PipelineProcess
    /// Nil if the pipeline has no gateway.
    private let gateway: Gateway?

    init(_ checked: CheckedPipeline) throws {
        var surroundings = HostSurroundings(
            registry: .builtIns, context: try HostContext(), console: { try StandardOutput.write(line: $0) })
        surroundings.openHome = HostSurroundings.openJetStreamHome
        process = try PipelineProcess(checked.file, in: surroundings)
        gateway =
            !checked.file.runsGateway
            ? nil : try Gateway(of: checked.file, path: checked.path) { StandardError.write("api: \($0)") }
    }

    func run() async throws -> Int32 {
        let terminal = Terminal()
        let isStopping = Atomic(false)
        StopSignals.watch([SIGINT, SIGTERM, SIGHUP]) { number, _ in
            if number == SIGHUP, !terminal.isClosed {
                return StandardError.write("with --in-process the file cannot be reloaded; restart to use its changes")
            }
            let wasStopping = isStopping.exchange(true, ordering: .relaxed)
            if wasStopping, number == SIGINT { _exit(128 + number) }
            StandardError.write(StopSignals.announcement(number))
            stop()
        }
        let (gatewayReady, gatewayReadyContinuation) = AsyncStream.makeStream(of: Void.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                defer { stop() }
                try await process.run()
            }
            group.addTask {
                defer { gatewayReadyContinuation.finish() }
                try await serve { gatewayReadyContinuation.yield() }
            }
            group.addTask { await announce(gatewayReady) }
            try await group.waitForAll()
        }
        return ToolStatus.success.rawValue
    }

    /// - Parameter onReady: Called when the gateway accepts requests; at once if the pipeline has no gateway.
    private func serve(_ onReady: @escaping @Sendable () -> Void) async throws {
        guard let gateway else { return onReady() }
        defer { stop() }
        try await gateway.run {
            StandardError.write("api: ready, \($0)")
            onReady()
        }
    }

    private func stop() {
        gateway?.stop()
        process.stop()
    }

    /// - Parameter gatewayReady: Has an element when the gateway accepts requests. Ends without an element if the
    ///   gateway ends before it accepts requests.
    private func announce(_ gatewayReady: AsyncStream<Void>) async {
        for host in process.hosts {
            guard await host.control.wait(until: { $0.phase == .running || $0.phase == .standingBy }) else { return }
            let report = host.control.report
            let state = report.phase == .running ? "ready" : "standing by"
            StandardError.write("\(host.plan.stage): \(state), log \(host.plan.logName) at \(report.last)")
        }
        for await _ in gatewayReady { StandardError.write("ready") }
    }
}
