import PipelineKit
import PipelineRuntime
import TestSupport
import Testing
import ZeroMQ

@Suite struct HealthProbeTests {
    @Test func `a late answer to an earlier request is not taken for the answer to the next request`() async throws {
        let context = try HostContext()
        let file = try PipelineFile.gateAndRelay(in: try Folder(), gate: "{bind: 'inproc://gate'}")
        let stage = try #require(file.stage(named: "gate"))
        let plan = try StageHost(stage, of: file, in: HostSurroundings(registry: .plain, context: context)).plan
        let answers = try await SocketThread.run(name: "peer") {
            let peer = try Peer(context.zmq, .router)
            defer { peer.socket.close() }
            try peer.socket.bind(plan.bind)
            let probe = try HealthProbe(plan, context)
            let first = try probe.ask(timeout: .milliseconds(150))
            try peer.send([try peer.receive()[0], Array(text: "late")])
            return [first, try probe.ask(timeout: .milliseconds(150))]
        }
        #expect(answers == [nil, nil])
    }
}
