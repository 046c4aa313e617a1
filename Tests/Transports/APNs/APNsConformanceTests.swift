import LocalAPNs
import PipelineKit
import PipelineTestKit
import Testing

@testable import TransportAPNs

@Suite(.timeLimit(.minutes(5))) struct APNsConformanceTests {
    @Test func `the APNs transport passes the checks for transports`() async throws {
        try await APNsRig.with { rig in
            let apns = rig.apns
            let peer = TransportPeer(
                arrivals: { apns.received.map(\.id) },
                pause: { try await apns.control(#"{"script":[{"do":{"latency":[2600,2600]}}]}"#) },
                resume: { try await apns.control(#"{"script":[]}"#) })
            let check = try TransportCheck(
                APNsTransport.self, settings: APNsRig.settings(to: apns.port, in: rig.folder),
                context: TransportContext(name: "apns") { _ in }, peer: peer, app: APNsRig.app)
            let problems = await check.problems()
            #expect(problems == [])
        }
    }
}
