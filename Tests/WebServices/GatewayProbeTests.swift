import Foundation
import TestSupport
import Testing

@testable import PipelineTestKit
@testable import WebServices

@Suite("A probe of a gateway", .timeLimit(.minutes(3)))
struct GatewayProbeTests {
    @Test func `a running gateway answers, and a stopped gateway does not`() async throws {
        var stopped: GatewayRig?
        try await GatewayRig.with { rig in
            let probe = try #require(try GatewayProbe(folder: rig.gateway.folder, rig.gateway.settings))
            #expect(probe.address == "127.0.0.1:\(rig.portNumber)")
            #expect(await onThread { probe.answers(withinSeconds: 30) })
            stopped = rig
        }
        let gateway = try #require(stopped).gateway
        let probe = try #require(try GatewayProbe(folder: gateway.folder, gateway.settings))
        #expect(await onThread { !probe.answers(withinSeconds: 30) })
    }

    @Test func `a gateway that accepts connections but sends nothing does not answer`() async throws {
        try await GatewayRig.with { rig in
            let server = TestServer { _, _ in .silence }
            defer { server.stop() }
            let folder = try Folder()
            #expect(try GatewayProbe(folder: folder.path, rig.gateway.settings) == nil)
            try GatewayFile.write(port: Int(server.port), host: "0.0.0.0", in: folder.path, process: getpid())
            let probe = try #require(try GatewayProbe(folder: folder.path, rig.gateway.settings))
            #expect(await onThread { !probe.answers(withinSeconds: 1) })
        }
    }
}
