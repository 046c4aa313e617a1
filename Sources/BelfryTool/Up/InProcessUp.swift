import BuiltIns
import Glibc
import PipelineRuntime
import Synchronization

/// `belfry up --in-process`: every stage on a thread of this process.
struct InProcessUp {
    private let process: PipelineProcess

    init(_ checked: CheckedPipeline) throws {
        let surroundings = HostSurroundings(
            registry: .builtIns, context: try HostContext(), console: { try StandardOutput.write(line: $0) })
        process = try PipelineProcess(checked.file, in: surroundings)
    }

    func run() async throws -> Int32 {
        let terminal = Terminal()
        let isStopping = Atomic(false)
        StopSignals.watch([SIGINT, SIGTERM, SIGHUP]) { [process] number, _ in
            if number == SIGHUP, !terminal.isClosed {
                return StandardError.write("with --in-process the file cannot be reloaded; restart to use its changes")
            }
            let wasStopping = isStopping.exchange(true, ordering: .relaxed)
            if wasStopping, number == SIGINT { _exit(128 + number) }
            StandardError.write(StopSignals.announcement(number))
            process.stop()
        }
        async let running: Void = process.run()
        await announce()
        try await running
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
