import Foundation
import PipelineKit
import TestSupport
import Testing

@testable import TransportAPNs

/// Tests the transport with servers that accept connections and then misbehave.
@Suite(.timeLimit(.minutes(5))) struct MisbehavingServers {
    private static let bad = RawServer.Conduct.allCases.filter { $0 != .answers }

    /// After the first call of `deliver`, the window is an hour long. If a later call waited for the server, the test
    /// would exceed its time limit.
    @Test(arguments: bad)
    func `a misbehaving server delays only the first delivery, and gets the push when it answers requests`(
        _ conduct: RawServer.Conduct
    ) async throws {
        let dialing = Dialing(
            timeout: .milliseconds(300), firstWait: .milliseconds(10), longestWait: .milliseconds(50))
        try await Self.with(conduct, dialing, "timeout: 500ms") { transport, server, windowLength in
            var reported = await transport.deliver([apnsPush(1)])
            windowLength.value = .seconds(3_600)
            for _ in 1...20 {
                #expect(reported[0].outcome == .deferred, "\(reported)")
                reported = await transport.deliver([apnsPush(1)])
            }
            server.conduct = .answers
            // The server still misbehaves on open connections.
            if conduct == .noRoom || conduct == .silence { try await transport.endConnections() }
            while reported[0].outcome == .deferred, !Task.isCancelled {
                reported = await transport.deliver([apnsPush(1)])
            }
            #expect(reported[0].outcome == .accepted)
            windowLength.value = .milliseconds(1)
        }
    }

    @Test(arguments: [RawServer.Conduct.noTLS, .noSettings, .goAwayAtOnce, .goAwayAfterRequest])
    func `the pool waits before the next connection if the last one brought no answer`(_ conduct: RawServer.Conduct)
        async throws
    {
        var dialing = Dialing.never
        dialing.timeout = .milliseconds(100)
        try await Self.with(conduct, dialing) { transport, server, windowLength in
            var failures = 0
            while failures == 0, !Task.isCancelled {
                _ = await transport.deliver([apnsPush(1)])
                failures = try await transport.onPool(\.state.dialFailures)
            }
            for number: UInt64 in 1...50 { _ = await transport.deliver([apnsPush(number)]) }
            #expect(server.connections == 1)
        }
    }

    @Test(arguments: [
        (RawServer.Conduct.noTLS, "does not answer the TLS handshake"),
        (.noSettings, "sends no SETTINGS of HTTP/2"), (.goAwayAtOnce, "sent GOAWAY"),
    ])
    func `the reason for a failed connection names the missing step, or GOAWAY`(
        _ conduct: RawServer.Conduct, _ words: String
    ) async throws {
        var dialing = Dialing.never
        dialing.timeout = .milliseconds(100)
        try await Self.with(conduct, dialing) { transport, server, windowLength in
            while try await transport.onPool(\.state.dialFailures) == 0, !Task.isCancelled {
                _ = await transport.deliver([apnsPush(1)])
            }
            let reported = await transport.deliver([apnsPush(1)])
            #expect(reported[0].reason == "localhost:\(server.port) \(words)")
        }
    }

    @Test func `a proxy that does not answer is named in the reason`() async throws {
        let folder = try Folder()
        let server = try await RawServer(.noTLS, in: folder.path)
        var dialing = Dialing.never
        dialing.timeout = .milliseconds(100)
        let transport = try APNsRig.transport(
            to: server.port, in: folder.path, "proxy: http://127.0.0.1:\(server.port)",
            windowLength: TestWindowLength(.milliseconds(100)), dialing: dialing)
        try await transport.open()
        while try await transport.onPool(\.state.dialFailures) == 0, !Task.isCancelled {
            _ = await transport.deliver([apnsPush(1)])
        }
        let reported = await transport.deliver([apnsPush(1)])
        #expect(reported[0].reason == "the proxy 127.0.0.1:\(server.port) does not answer CONNECT")
        await transport.close()
        try await server.stop()
    }

    private static func with(
        _ conduct: RawServer.Conduct, _ dialing: Dialing, _ settings: String = "",
        _ body: (APNsTransport, RawServer, TestWindowLength) async throws -> Void
    ) async throws {
        let folder = try Folder()
        let server = try await RawServer(conduct, in: folder.path)
        let windowLength = TestWindowLength(.milliseconds(100))
        let transport = try APNsRig.transport(
            to: server.port, in: folder.path, settings, windowLength: windowLength, dialing: dialing)
        try await transport.open()
        try await body(transport, server, windowLength)
        await transport.close()
        try await server.stop()
    }
}

extension APNsTransport {
    func onPool<Result: Sendable>(_ body: @escaping @Sendable (ConnectionPool) throws -> Result) async throws -> Result
    {
        let pool = try #require(routes.first).pool
        return try await pool.loop.submit { try body(pool.bound.value) }.get()
    }

    fileprivate func endConnections() async throws {
        try await onPool { for connection in $0.connections.values { connection.close() } }
    }
}
