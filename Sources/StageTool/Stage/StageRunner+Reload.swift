import PipelineKit
import PipelineRuntime

extension StageRunner {
    /// A request to change a running stage.
    enum Request: Sendable {
        /// SIGHUP to a stage that was started by hand.
        case hangup
        /// A request from `belfry up`.
        case word(SupervisorWord)
    }

    func answer(_ requests: AsyncStream<Request>) async {
        var prospect: ReloadableStage.Prospect?
        for await request in requests {
            switch request {
            case .hangup: await hangup()
            case .word(.file(let folder, let text)):
                let file = PipelineText(path: pipeline, folder: folder, text: text)
                let isReady = await goesOn { prospect = try await self.prospect(of: file) }
                SupervisorLine.ofThisProcess.answer(isReady)
            case .word(.take):
                if let prospect { _ = await goesOn { try await take(prospect) } }
                prospect = nil
            case .word(.leave):
                if let prospect { await running.drop(prospect) }
                prospect = nil
            }
        }
        if let prospect { await running.drop(prospect) }
    }

    private func hangup() async {
        let stage = host.plan.stage
        let isReloaded = await goesOn {
            guard let prospect = try await self.prospect(of: PipelineText(running: pipeline)) else {
                return StandardError.write("\(stage): \(pipeline) has not changed")
            }
            try await take(prospect)
        }
        if !isReloaded, running.isGoingOn { StandardError.write("\(stage): keeps its previous settings") }
    }

    private func prospect(of file: PipelineText) async throws -> ReloadableStage.Prospect? {
        let next = try read(file)
        guard next.stage.name == host.plan.stage else {
            throw ToolFailure(.configuration, "\(pipeline) no longer has a stage \(host.plan.stage)")
        }
        return try await running.prospect(of: StageHost(next.stage, of: next.checked.file, in: surroundings))
    }

    private func take(_ prospect: ReloadableStage.Prospect) async throws {
        try await running.take(prospect)
        StandardError.write("\(host.plan.stage): reloaded \(pipeline): \(prospect.said.joined(separator: "; "))")
    }

    /// - Returns: Whether `body` succeeded. A failure is reported, unless the stage has ended.
    private func goesOn(_ body: () async throws -> Void) async -> Bool {
        do {
            try await body()
            return true
        } catch ReloadError.ended {
            return false
        } catch {
            let stage = host.plan.stage
            let failure = StageRunner.naming(stage, error) as? ToolFailure
            StandardError.write(failure?.message ?? "\(stage): \(error)")
            return false
        }
    }
}
