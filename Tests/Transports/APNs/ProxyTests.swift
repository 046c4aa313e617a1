import Foundation
import PipelineKit
import Testing

@testable import TransportAPNs

/// If the settings name a proxy, the transport sends pushes only through the proxy.
@Suite(.timeLimit(.minutes(5))) struct ProxyTests {
    @Test func `pushes go through the tunnel that the proxy opens`() async throws {
        try await APNsRig.with { rig in
            let proxy = try await TestProxy(.open)
            let transport = try transport(rig, proxy.port)
            try await transport.open()
            let answers = await transport.deliver((1...50).map { apnsPush($0, token: String(format: "%08x", $0)) })
            #expect(answers.count == 50 && answers.allSatisfy { $0.outcome == .accepted })
            #expect(proxy.requests.count == 1)
            #expect(proxy.requests[0].hasPrefix("CONNECT localhost:\(rig.apns.port) HTTP/1.1\r\n"))
            #expect(proxy.requests[0].contains("\r\nHost: localhost:\(rig.apns.port)\r\n"))
            #expect(!proxy.requests[0].contains("bearer"))
            await transport.close()
            try await proxy.stop()
        }
    }

    @Test func `an IPv6 address is written in brackets before a port`() {
        #expect(ServerName.bracketed("::1") == "[::1]")
        #expect(ServerName.bracketed("api.push.apple.com") == "api.push.apple.com")
    }

    @Test(arguments: [407, 403, 502])
    func `if the proxy refuses the tunnel, no push is sent`(_ status: Int) async throws {
        try await APNsRig.with { rig in
            let proxy = try await TestProxy(.refuse(status))
            try await expectNothingSent(
                rig, proxy.port,
                reason: "the proxy 127.0.0.1:\(proxy.port) opened no tunnel: it answered with status \(status)")
            #expect(!proxy.requests.isEmpty)
            try await proxy.stop()
        }
    }

    @Test func `if the proxy does not run, no push is sent`() async throws {
        try await APNsRig.with { rig in
            let proxy = try await TestProxy(.open)
            try await proxy.stop()
            try await expectNothingSent(
                rig, proxy.port, reason: "the proxy 127.0.0.1:\(proxy.port) refuses connections")
        }
    }

    @Test func `a proxy that requires a login gets it`() async throws {
        try await APNsRig.with { rig in
            let proxy = try await TestProxy(.openTo("Basic " + Data("belfry:sesame".utf8).base64EncodedString()))
            try await expectNothingSent(rig, proxy.port, reason: "status 407")
            let file = "\(rig.folder)/proxy.login"
            #expect(
                FileManager.default.createFile(
                    atPath: file, contents: Data("belfry:sesame\n".utf8), attributes: [.posixPermissions: 0o600]))
            let transport = try transport(rig, proxy.port, "proxyLogin: {$file: \(file)}")
            try await transport.open()
            #expect(await transport.deliver([apnsPush(2)]).map(\.outcome) == [.accepted])
            await transport.close()
            try await proxy.stop()
        }
    }

    private func transport(_ rig: APNsRig, _ port: Int, _ more: String = "") throws -> APNsTransport {
        try APNsRig.transport(
            to: rig.apns.port, in: rig.folder, "proxy: http://127.0.0.1:\(port)\n\(more)",
            windowLength: rig.windowLength)
    }

    private func expectNothingSent(_ rig: APNsRig, _ port: Int, reason: String) async throws {
        rig.windowLength.value = .milliseconds(500)
        let transport = try transport(rig, port)
        try await transport.open()
        var reported = await transport.deliver([apnsPush(1)])[0]
        // On a busy machine the window may end before the proxy answers.
        while reported.reason?.contains("does not answer") == true {
            reported = await transport.deliver([apnsPush(1)])[0]
        }
        #expect(reported.outcome == .deferred && reported.attempts == 0 && !reported.mayRepeat)
        #expect(reported.reason?.contains(reason) == true, "\(reported)")
        #expect(rig.apns.receivedCount == 0)
        await transport.close()
        rig.windowLength.value = .seconds(3_600)
    }
}
