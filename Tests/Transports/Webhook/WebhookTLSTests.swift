import Foundation
import PipelineKit
import TestSupport
import Testing

@testable import TransportWebhook

/// Tests the webhook with a TLS server that is not written in Swift.
@Suite(.enabled(if: TLSServer.isPossible, "needs \(Python.program) and openssl"), .timeLimit(.minutes(5)))
struct WebhookTLSTests {
    @Test func `a server whose certificate is trusted gets pushes over TLS`() async throws {
        let server = try TLSServer(name: "localhost")
        let rig = try await Rig(url: server.url("localhost"), "trust: \(server.trust)\nattempts: 1")
        #expect(await rig.deliver(push(1)) == [TransportAnswer(push(1).id, .accepted, status: 204)])
        #expect(try server.bodies() == [String(decoding: push(1).line, as: UTF8.self)])
        await rig.transport.close()
    }

    @Test func `a server with an untrusted certificate gets nothing`() async throws {
        let server = try TLSServer(name: "localhost")
        let rig = try await Rig(url: server.url("localhost"), "attempts: 1")
        let answers = await rig.deliver(push(1))
        #expect(answers.map(\.outcome) == [.failed])
        #expect(answers.first?.reason?.contains("certificate") == true, "\(answers)")
        #expect(try server.bodies().isEmpty)
        await rig.transport.close()
    }

    @Test func `a server whose certificate is for another name gets nothing`() async throws {
        let server = try TLSServer(name: "other.example.com")
        let rig = try await Rig(url: server.url("localhost"), "trust: \(server.trust)\nattempts: 1")
        let answers = await rig.deliver(push(1))
        #expect(answers.map(\.outcome) == [.failed])
        #expect(answers.first?.reason?.contains("localhost") == true, "\(answers)")
        #expect(try server.bodies().isEmpty)
        await rig.transport.close()
    }

    @Test func `a server gets nothing if the setting trust names another certificate`() async throws {
        let (server, stranger) = (try TLSServer(name: "localhost"), try TLSServer(name: "localhost"))
        let rig = try await Rig(url: server.url("localhost"), "trust: \(stranger.trust)\nattempts: 1")
        #expect(await rig.deliver(push(1)).map(\.outcome) == [.failed])
        #expect(try server.bodies().isEmpty)
        await rig.transport.close()
    }

    @Test func `a trust file that is missing or has no certificate is refused at open`() async throws {
        let folder = try Folder()
        let path = try folder.write("none", to: "ca.pem")
        for trust in [path, folder.file("missing.pem")] {
            let rig = Rig(try webhookSettings("url: https://example.com/\ntrust: \(trust)"))
            let error = await #expect(throws: TransportError.self) { try await rig.transport.open() }
            #expect(error?.reason.contains(trust) == true)
        }
    }
}
