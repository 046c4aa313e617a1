import PipelineKit
import PipelineRuntime

extension StageRunner {
    /// A request to change a running stage.
    enum Request: Sendable {
        /// SIGHUP to a stage that was started by hand.
        case hangup
        /// A message from `belfry up`.
        case message(SupervisorMessage)
    }

    /// Handles requests until the stage has ended.
    func handle(_ requests: AsyncStream<Request>) async {
        var preparedReload: ReloadableStage.PreparedReload?
        for await request in requests {
            switch request {
            case .hangup: await reloadAfterHangup()
            case .message(.file(let folder, let text)):
                let file = PipelineText(path: pipeline, folder: folder, text: text)
                let isReady = await succeeds { preparedReload = try await self.preparedReload(of: file) }
                SupervisorSocket.ofThisProcess.sendAnswer(acceptsFile: isReady)
            case .message(.apply):
                if let preparedReload { _ = await succeeds { try await apply(preparedReload) } }
                preparedReload = nil
            case .message(.discard):
                if let preparedReload { await running.drop(preparedReload) }
                preparedReload = nil
            }
        }
        if let preparedReload { await running.drop(preparedReload) }
    }

    private func reloadAfterHangup() async {
        let stage = host.plan.stage
        let isAccepted = await succeeds {
            let text = try PipelineText(forLongRunningProcess: pipeline)
            guard let preparedReload = try await self.preparedReload(of: text) else {
                return StandardError.write("\(stage): \(pipeline) has no changes for this stage")
            }
            try await apply(preparedReload)
        }
        if !isAccepted, running.isRunning { StandardError.write("\(stage): keeps its previous settings") }
    }

    private func preparedReload(of file: PipelineText) async throws -> ReloadableStage.PreparedReload? {
        let next = try read(file)
        guard next.stage.name == host.plan.stage else {
            throw ToolFailure(.configuration, "\(pipeline) no longer has a stage \(host.plan.stage)")
        }
        return try await running.preparedReload(of: StageHost(next.stage, of: next.checked.file, in: surroundings))
    }

    private func apply(_ preparedReload: ReloadableStage.PreparedReload) async throws {
        try await running.apply(preparedReload)
        let descriptions = preparedReload.descriptions.joined(separator: "; ")
        StandardError.write("\(host.plan.stage): reloaded \(pipeline): \(descriptions)")
    }

    /// - Returns: Whether `body` succeeded. A failure is reported, unless the stage has ended.
    private func succeeds(_ body: () async throws -> Void) async -> Bool {
        do {
            try await body()
            return true
        } catch ReloadError.ended {
            return false
        } catch {
            let stage = host.plan.stage
            let failure = StageRunner.error(error, naming: stage) as? ToolFailure
            StandardError.write(failure?.message ?? "\(stage): \(error)")
            return false
        }
    }
}
