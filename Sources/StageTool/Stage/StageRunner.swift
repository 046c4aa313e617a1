import Glibc
import PipelineKit
import PipelineRuntime
import ZeroMQ

/// One stage in this process, until it is asked to stop.
package struct StageRunner {
    /// How long a stage waits for its upstream before it says so.
    private static let quietWait = Duration.seconds(2)

    package let host: StageHost
    private let upstream: String
    package let context: HostContext

    package init(_ stage: PipelineStage, of file: PipelineFile, registry: Registry) throws {
        context = try HostContext()
        let surroundings = HostSurroundings(
            registry: registry, context: context, console: { try StandardOutput.write(line: $0) })
        upstream = stage.from ?? ""
        host = try StageHost(stage, of: file, in: surroundings)
    }

    /// Whether `belfry up` has started this process.
    package static var isSupervised: Bool { getenv("BELFRY_SUPERVISED") != nil }

    /// Returns when the stage has stopped and all it took in is durable.
    ///
    /// - Parameter work: Done beside the stage, once it runs.
    package func run(_ work: @escaping @Sendable () async throws -> Void = {}) async throws {
        StopSignals.watch { [control = host.control] number, _ in
            // Under `up`, a Ctrl-C is the supervisor's to pass on.
            if number == SIGTERM || !StageRunner.isSupervised { control.stop() }
        }
        if StageRunner.isSupervised { Lifeline.watch { [control = host.control] in control.stop() } }
        async let beside: Void = doWhenRunning(work)
        async let said: Void = announce()
        do { try await host.run() } catch { throw StageRunner.naming(host.plan.stage, error) }
        await said
        if !StageRunner.isSupervised { StandardError.write("\(host.plan.stage): stopped") }
        try await beside
    }

    /// Tells whoever started the stage by hand how it fares; `belfry up` does that for its own.
    private func announce() async {
        guard !StageRunner.isSupervised else { return }
        let waiting = Task { [plan = host.plan, control = host.control, upstream] in
            try await Task.sleep(for: StageRunner.quietWait)
            guard control.report.phase == .waitingForUpstream, let endpoint = plan.upstream else { return }
            StandardError.write("\(plan.stage): waiting for \(upstream) at \(endpoint)")
        }
        let isRunning = await host.control.wait(until: { $0.phase == .running })
        waiting.cancel()
        if isRunning { StandardError.write(StageRunner.announcement(host.plan, host.control.report)) }
    }

    package static func announcement(_ plan: HostPlan, _ report: HostReport) -> String {
        let door = (report.door ?? plan.door).map { ", door \($0)" } ?? ""
        return
            "\(plan.stage): running, log \(plan.logName) at \(report.last), readers connect to \(report.endpoint)\(door)"
    }

    private func doWhenRunning(_ work: @Sendable () async throws -> Void) async throws {
        guard await host.control.wait(until: { $0.phase == .running }) else { return }
        do { try await work() } catch {
            host.control.stop()
            throw error
        }
    }

    /// Stages share one terminal, so each says who speaks.
    package static func naming(_ stage: String, _ error: any Error) -> any Error {
        guard let failure = ToolFailure(explaining: error) else { return error }
        return failure.status == .configuration && error is PipelineFileError
            ? failure : ToolFailure(failure.status, "\(stage): \(failure.message)")
    }
}

/// Standard input as `belfry up` gives it to its stages: nothing comes, and it ends when `up` does.
package enum Lifeline {
    package static func watch(_ ended: @escaping @Sendable () -> Void) {
        Task.detached {
            do {
                try await SocketThread.run(name: "lifeline") {
                    var bytes: UInt64 = 0
                    while read(STDIN_FILENO, &bytes, 8) > 0 {}
                    ended()
                }
            } catch {
                StandardError.write("cannot watch for the end of `belfry up`: \(error)")
            }
        }
    }
}
