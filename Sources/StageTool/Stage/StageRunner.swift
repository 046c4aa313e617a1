import Glibc
import PipelineKit
import PipelineRuntime
import ZeroMQ

/// A stage and the pipeline file that it was read from.
package struct LoadedStage: Sendable {
    package let checked: CheckedPipeline
    package let stage: PipelineStage

    package init(_ checked: CheckedPipeline, _ stage: PipelineStage) { (self.checked, self.stage) = (checked, stage) }
}

/// Runs one stage in this process until it is asked to stop. SIGHUP makes it read its pipeline file again. A stage that
/// `belfry up` started refuses SIGHUP, and gets the file's text from `belfry up`.
package struct StageRunner {
    /// How long a stage waits for its upstream before it reports the wait.
    private static let upstreamReportDelay = Duration.seconds(2)

    package let running: ReloadableStage
    private let upstream: String
    package let context: HostContext
    let surroundings: HostSurroundings
    let pipeline: String
    let read: @Sendable (PipelineText) throws -> LoadedStage

    /// - Parameters:
    ///   - pipeline: The path of the pipeline file.
    ///   - read: Checks the file and finds the stage in it; called again for every reload.
    package init(
        _ registry: Registry, _ pipeline: String, read: @escaping @Sendable (PipelineText) throws -> LoadedStage
    ) throws {
        context = try HostContext()
        var surroundings = HostSurroundings(
            registry: registry, context: context, console: { try StandardOutput.write(line: $0) })
        surroundings.openHome = HostSurroundings.openJetStreamHome
        surroundings.previousEnd = getenv("BELFRY_ENDED").map { String(cString: $0) }
        self.surroundings = surroundings
        let first = try read(try StageRunner.file(pipeline))
        upstream = first.stage.from ?? ""
        running = ReloadableStage(try StageHost(first.stage, of: first.checked.file, in: surroundings))
        (self.pipeline, self.read) = (pipeline, read)
    }

    /// The pipeline file. A process that `belfry up` started gets the file's text from `belfry up`.
    package static func file(_ pipeline: String) throws -> PipelineText {
        guard isSupervised else { return try PipelineText(forLongRunningProcess: pipeline) }
        guard case .file(let folder, let text) = SupervisorSocket.ofThisProcess.receiveMessage() else {
            throw ToolFailure(.unavailable, "belfry up has ended")
        }
        return PipelineText(path: pipeline, folder: folder, text: text)
    }

    package var host: StageHost { running.host }

    /// Whether `belfry up` started this process.
    package static var isSupervised: Bool { getenv("BELFRY_SUPERVISED") != nil }

    /// Runs the stage. Returns when the stage has stopped and its output is durable.
    ///
    /// - Parameter work: Runs at the same time as the stage, after the stage has started.
    package func run(_ work: @escaping @Sendable () async throws -> Void = {}) async throws {
        // All messages of `belfry up` are kept: it waits for an answer to each file, and then sends `apply` or
        // `discard`. Several signals need only one reload.
        let (requests, request) = AsyncStream.makeStream(
            of: Request.self, bufferingPolicy: StageRunner.isSupervised ? .unbounded : .bufferingNewest(1))
        watchSignals(request)
        if StageRunner.isSupervised {
            Lifeline.watch {
                request.yield(.message($0))
            } ended: { [running] in
                running.stop()
            }
        }
        let first = host
        async let beside: Void = doWhenRunning(first, work)
        async let announcing: Void = announce(first)
        async let reloading: Void = handle(requests)
        defer { request.finish() }
        do { try await running.run() } catch { throw StageRunner.error(error, naming: host.plan.stage) }
        request.finish()
        await announcing
        await reloading
        defer { if !StageRunner.isSupervised { StandardError.write("\(host.plan.stage): stopped") } }
        try await beside
    }

    private func watchSignals(_ request: AsyncStream<Request>.Continuation) {
        let terminal = Terminal()
        StopSignals.watch([SIGINT, SIGTERM, SIGHUP]) { [self] number, _ in
            // Under `up`, the supervisor handles Ctrl-C and the end of the terminal.
            switch number {
            case SIGTERM: running.stop()
            case SIGHUP where !terminal.isClosed && StageRunner.isSupervised: refuseHangup()
            case SIGHUP where !terminal.isClosed: request.yield(.hangup)
            default: if !StageRunner.isSupervised { running.stop() }
            }
        }
    }

    private func refuseHangup() {
        StandardError.write(
            "\(host.plan.stage): send SIGHUP to belfry up, process \(getppid()), which reloads the file for all stages")
    }

    /// For a stage that was started by hand, reports a long wait for its upstream, and then that the stage is running.
    /// `belfry up` prints messages of its own.
    private func announce(_ host: StageHost) async {
        guard !StageRunner.isSupervised else { return }
        let waiting = Task { [plan = host.plan, control = host.control, upstream] in
            try await Task.sleep(for: StageRunner.upstreamReportDelay)
            guard control.report.phase == .waitingForUpstream, let endpoint = plan.upstream else { return }
            StandardError.write("\(plan.stage): waiting for \(upstream) at \(endpoint)")
        }
        let isRunning = await host.control.wait(until: { $0.phase == .running })
        waiting.cancel()
        if isRunning { StandardError.write(StageRunner.announcement(host.plan, host.control.report)) }
    }

    package static func announcement(_ plan: HostPlan, _ report: HostReport) -> String {
        let door = (report.door ?? plan.door).map { ", door \($0)" } ?? ""
        return "\(plan.stage): running, log \(plan.logName) at \(report.last), "
            + "readers connect to \(report.endpoint)\(door)"
    }

    private func doWhenRunning(_ host: StageHost, _ work: @Sendable () async throws -> Void) async throws {
        guard await host.control.wait(until: { $0.phase == .running }) else { return }
        do { try await work() } catch {
            running.stop()
            throw error
        }
    }

    /// Adds the stage's name to an error, since several stages may share one terminal. Errors in the pipeline file and
    /// errors that Belfry does not define get no name.
    package static func error(_ error: any Error, naming stage: String) -> any Error {
        guard let failure = ToolFailure(explaining: error) else { return error }
        return failure.status == .configuration && error is PipelineFileError
            ? failure : ToolFailure(failure.status, "\(stage): \(failure.message)")
    }
}

/// The standard input that `belfry up` gives to the stages and the gateway: the socket for its messages. It ends when
/// `up` ends.
package enum Lifeline {
    package static func watch(
        _ receive: @escaping @Sendable (SupervisorMessage) -> Void = { _ in }, ended: @escaping @Sendable () -> Void
    ) {
        Task.detached {
            do {
                try await SocketThread.run(name: "lifeline") {
                    while let message = SupervisorSocket.ofThisProcess.receiveMessage() { receive(message) }
                    ended()
                }
            } catch {
                StandardError.write("cannot watch for the end of `belfry up`: \(error)")
            }
        }
    }
}
