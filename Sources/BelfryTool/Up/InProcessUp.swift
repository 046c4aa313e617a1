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
        let surroundings = HostSurroundings(
            registry: .builtIns, context: try HostContext(), console: { try StandardOutput.write(line: $0) })
        process = try PipelineProcess(checked.file, in: surroundings)
        gateway =
            checked.file.api == nil
            ? nil : try Gateway(of: checked.file, path: checked.path) { StandardError.write("api: \($0)") }
    }

    func run() async throws -> Int32 {
        let terminal = Terminal()
        let isStopping = Atomic(false)
        StopSignals.watch([SIGINT, SIGTERM, SIGHUP]) { [process, gateway] number, _ in
            if number == SIGHUP, !terminal.isClosed {
                return StandardError.write("with --in-process the file cannot be reloaded; restart to use its changes")
            }
            let wasStopping = isStopping.exchange(true, ordering: .relaxed)
            if wasStopping, number == SIGINT { _exit(128 + number) }
            StandardError.write(StopSignals.announcement(number))
            gateway?.stop()
            process.stop()
        }
        async let running: Void = process.run()
        async let serving: Void? = gateway?.run { StandardError.write("api: ready, \($0)") }
        await announce()
        try await running
        gateway?.stop()
        try await serving
        return ToolStatus.success.rawValue
    }

    private func announce() async {
        for host in process.hosts {
            guard await host.control.wait(until: { $0.phase == .running }) else { return }
            let report = host.control.report
            StandardError.write("\(host.plan.stage): ready, log \(host.plan.logName) at \(report.last)")
        }
        StandardError.write("ready")
    }
}
