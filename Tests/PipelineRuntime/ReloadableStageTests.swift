import PipelineKit
import TestSupport
import Testing

@testable import PipelineRuntime

/// A stage gets other settings while it runs.
@Suite(.timeLimit(.minutes(5))) struct ReloadableStages {
    @Test func `a reload replaces the host only if settings have changed, and fails for another log or an ended stage`()
        async throws
    {
        let folder = try Folder()
        let gate = try Gates(in: folder)
        let stage = ReloadableStage(try gate.host())
        async let running: Void = stage.run()
        let first = stage.host
        #expect(await first.control.wait(until: { $0.phase == .running }))
        #expect(try await stage.reload(to: gate.host()) == nil)
        let next = try gate.host(log: "{sync: never, snapshotBytes: 1 MiB}")
        #expect(try await stage.reload(to: next) == ["log.snapshotBytes"])
        #expect(first.control.report.phase == .stopped && stage.host.control.report.phase == .running)
        let (log, other) = (first.plan.logDirectory, first.plan.logsDirectory + "/other")
        await #expect(throws: ReloadError.otherLog(other, current: log)) {
            try await stage.reload(to: gate.host(gate: "{log: other}"))
        }
        #expect(stage.isRunning && stage.host.control.report.phase == .running)
        stage.stop()
        try await running
        #expect(!stage.isRunning)
        await #expect(throws: ReloadError.ended) { try await stage.reload(to: gate.host(log: "{sync: always}")) }
    }

    @Test func `after a stop at any moment of a reload, no host runs`() async throws {
        let folder = try Folder()
        let gate = try Gates(in: folder)
        for yields in 0..<30 {
            let stage = ReloadableStage(try gate.host())
            async let running: Void = stage.run()
            #expect(await stage.host.control.wait(until: { $0.phase == .running }))
            let next = try gate.host(log: "{sync: always}")
            async let reloading = stage.reload(to: next)
            for _ in 0..<yields { await Task.yield() }
            stage.stop()
            do { _ = try await reloading } catch { #expect(error as? ReloadError == .ended) }
            try await running
            #expect(next.control.report.phase != .running)
        }
    }
}

/// Makes hosts of the test stage `gate` with different settings.
private struct Gates {
    let folder: Folder
    let context: HostContext

    init(in folder: Folder) throws { (self.folder, context) = (folder, try HostContext()) }

    func host(gate: String = "{}", log: String = "{sync: never}") throws -> StageHost {
        let file = try PipelineFile.gateAndRelay(in: folder, gate: gate, log: log)
        let stage = try #require(file.stage(named: "gate"))
        return try StageHost(stage, of: file, in: HostSurroundings(registry: .plain, context: context))
    }
}

extension ReloadableStage {
    fileprivate func reload(to next: StageHost) async throws -> [String]? {
        guard let preparedReload = try await preparedReload(of: next) else { return nil }
        try await apply(preparedReload)
        return preparedReload.descriptions
    }
}
