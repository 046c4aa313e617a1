import Foundation
import LocalAPNs
import NIOCore
import NIOPosix
import NIOSSL
import PipelineKit
import TestSupport
import Testing

@testable import TransportAPNs

/// Tests the reasons for failed connections. The texts of these reasons must not change.
@Suite(.timeLimit(.minutes(5))) struct ConnectionFailureTests {
    @Test func `a server that does not run refuses connections`() async throws {
        let port = try ReservedPort()
        try await expect("refuses connections", at: port.number)
    }

    /// The server accepts connections, and sends nothing.
    @Test func `a server that sends nothing is reported as not answering`() async throws {
        try await PlainServer.with(nil) { try await expect("does not answer the TLS handshake", at: $0) }
    }

    @Test func `a server that closes the connection, speaks no TLS or sends a TLS alert is reported`() async throws {
        try await PlainServer.with("") { try await expect("closed the connection", at: $0) }
        try await PlainServer.with("HTTP/1.1 400 Bad Request\r\n\r\n") { try await expect("speaks no TLS", at: $0) }
        try await PlainServer.with("\u{15}\u{3}\u{3}\u{0}\u{2}\u{2}\u{28}") {
            try await expect("did not agree on TLS", at: $0)
        }
    }

    @Test func `a certificate of another authority is not trusted`() async throws {
        try await APNsRig.with { rig in
            try await APNsRig.with { stranger in
                try await expect("shows a certificate that is not trusted", at: stranger.apns.port, in: rig.folder)
            }
        }
    }

    @Test(arguments: [
        ("BadCertificate", APNsProbe.Verdict.credential), ("BadCertificateEnvironment", .environment),
    ])
    func `the probe reports the reason in a GOAWAY`(_ reason: String, _ verdict: APNsProbe.Verdict) async throws {
        let script = [#"{"do":{"goaway":{"reason":"\#(reason)","lastStream":"before"}}}"#]
        try await APNsRig.with(script: script) { rig in
            let text = APNsRig.settings(to: rig.apns.port, in: rig.folder, "certificate")
            let settings = try SettingsReader(text: text, file: "p.yaml").decode(APNsSettings.self)
            let context = TransportContext(name: "apns", folder: rig.folder) { _ in }
            let found = try await APNsProbe(settings, context: context).run()[0]
            #expect(found.verdict == verdict && found.reason == reason, "\(found)")
            #expect(found.text.contains("the certificate \(rig.folder)/client.pem"), "\(found)")
            #expect(found.duration < .seconds(10))
        }
    }

    @Test(arguments: [
        (ChannelError.connectTimeout(.seconds(10)) as any Error, ConnectionFailure.silent),
        (IOError(errnoCode: ECONNREFUSED, reason: "connect"), .refused),
        (IOError(errnoCode: ETIMEDOUT, reason: "connect"), .silent),
        (IOError(errnoCode: ENETUNREACH, reason: "connect"), .noRoute),
        (IOError(errnoCode: EHOSTUNREACH, reason: "connect"), .noRoute),
        (IOError(errnoCode: ECONNRESET, reason: "read"), .closed),
        (NIOSSLError.uncleanShutdown, .closed), (NIOSSLError.handshakeFailed(.zeroReturn), .closed),
        (NIOSSLError.unableToValidateCertificate, .untrusted), (NIOSSLExtraError.failedToValidateHostname, .otherName),
    ])
    func `an error of the system, of NIO or of TLS becomes the right failure`(
        _ error: any Error, _ failure: ConnectionFailure
    ) {
        #expect(ConnectionFailure(error) == failure)
    }

    @Test func `every connection failure has a remedy, but only some of the other reasons have one`() {
        for failure in ConnectionFailure.allCases {
            let words = "api.push.apple.com:443 \(failure.rawValue)"
            #expect(APNsProbe.remedy(status: nil, reason: words)?.isEmpty == false, "\(failure)")
            #expect(
                APNsProbe.remedy(status: nil, reason: "the proxy p:1 \(failure.rawValue)")?.contains("proxy") == true)
        }
        for reason in ["", "waits for a free stream", "expired"] {
            #expect(APNsProbe.remedy(status: nil, reason: reason) == nil)
        }
        for reason in ["in_flight", "no answer", "reset with code 2"] {
            #expect(APNsProbe.remedy(status: nil, reason: reason)?.hasPrefix("the device may still get") == true)
        }
        for (status, reason) in [(503, "ServiceUnavailable"), (502, ""), (429, "TooManyRequests")] {
            #expect(APNsProbe.remedy(status: status, reason: reason)?.contains("retryAfter5xx") == true)
        }
        #expect(APNsProbe.remedy(status: 413, reason: "PayloadTooLarge") == nil)
        #expect(APNsProbe.remedy(status: 400, reason: "BadDeviceToken") == nil)
    }

    /// - Parameter words: The expected reason, without the address.
    private func expect(_ words: String, at port: Int, in folder: String? = nil) async throws {
        let own = try Folder()
        // A start of the local APNs makes the credentials in the folder.
        let made = try await folder == nil ? LocalAPNs.start(Self.configuration(own)) : nil
        try await made?.stop()
        let windowLength = TestWindowLength(.milliseconds(500))
        let transport = try APNsRig.transport(to: port, in: folder ?? own.path, windowLength: windowLength)
        try await transport.open()
        var reported = await transport.deliver([apnsPush(1)])[0]
        // On a busy machine the window may end before the connection fails.
        while words != ConnectionFailure.noTLSAnswer.rawValue,
            reported.reason?.contains(ConnectionFailure.silent.rawValue) == true
        {
            reported = await transport.deliver([apnsPush(1)])[0]
        }
        #expect(
            reported.outcome == .deferred && reported.attempts == 0 && reported.reason == "localhost:\(port) \(words)",
            "\(reported)")
        await transport.close()
    }

    private static func configuration(_ folder: Folder) -> LocalAPNs.Configuration {
        var configuration = LocalAPNs.Configuration()
        (configuration.port, configuration.folder) = (0, folder.path)
        return configuration
    }
}

/// A server that answers the client's first bytes with a text, and then closes the connection. If the text is nil, the
/// server sends nothing and leaves the connection open.
private enum PlainServer {
    static func with(_ text: String?, _ body: (Int) async throws -> Void) async throws {
        let threads = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let listener = try await ServerBootstrap(group: threads)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Answerer(text)) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        try await body(listener.localAddress?.port ?? 0)
        try await listener.close()
        try await threads.shutdownGracefully()
    }

    private final class Answerer: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let text: String?

        init(_ text: String?) { self.text = text }

        /// Answers only after it has read the client's bytes, because unread bytes would reset the connection.
        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard let text else { return }
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
            context.close(promise: nil)
        }
    }
}
