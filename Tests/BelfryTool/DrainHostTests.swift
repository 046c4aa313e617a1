import Inspect
import PipelineKit
import StageTool
import TestSupport
import Testing

@testable import BelfryTool

@Suite(.enabled(if: NATSServers.areTested, NATSServers.missing)) struct DrainHostTests {
    @Test func `a drain waits once for the owners of all stages`() async throws {
        let (servers, folder) = (try NATSServers(), try TemporaryFolder())
        let stages = ["ingest", "match", "coalesce", "payload", "deliver"].enumerated().map { index, name in
            let more =
                switch name {
                case "ingest": "door: \"tcp://127.0.0.1:7410\""
                case "deliver": "from: payload, transports: {apns: {use: console}}"
                default: "from: \(["ingest", "match", "coalesce"][index - 1])"
                }
            return "  \(name): {bind: \"tcp://127.0.0.1:\(7411 + index)\", \(more)}\n"
        }
        let path = try folder.file(
            "p.yaml",
            """
            pipeline: drained
            log: {home: jetstream, servers: ["\(servers.addresses[0])"], replicas: 1, takeOver: 1s}
            hosts: {a: {address: 127.0.0.1}, b: {address: 127.0.0.2}}
            stages:
            \(stages.joined())
            """)
        let checked = try CheckedPipeline(PipelineText(path: path), host: "b")
        let duration = await ContinuousClock().measure {
            await #expect(throws: ToolFailure.self) { try await DrainHost(checked).run() }
        }
        // The wait for the owners takes 2 s.
        #expect(duration < .seconds(4))
    }
}
