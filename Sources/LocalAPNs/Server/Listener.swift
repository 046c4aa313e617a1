import Foundation
import NIOCore
import NIOHTTP2
import NIOPosix
import NIOSSL
import NIOTLS
import Signing

/// Accepts connections: TLS first, then HTTP/2, all on one event loop.
struct Listener {
    let server: ServerState
    let tls: NIOSSLContext
    let reader: CertificateReader

    static func tls(_ credentials: Credentials, names: [String]) throws -> NIOSSLContext {
        let key = PrivateKey()
        let certificate = try credentials.authority.serverCertificate(for: key.publicKey, names: names, at: Date())
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(try NIOSSLCertificate(bytes: certificate.der, format: .der))],
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(try key.pem.utf8), format: .pem)))
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["h2"]
        configuration.certificateVerification = .optionalVerification
        return try NIOSSLContext(configuration: configuration)
    }

    func prepare(_ channel: any Channel) throws {
        let socketHandler = SocketHandler()
        let failures = HandshakeFailures(server)
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(socketHandler)
        // The handshake accepts any certificate. `RequestCheck` checks the certificate at each request.
        try pipeline.addHandler(
            NIOSSLServerHandler(context: tls, customVerificationCallback: { $1.succeed(.certificateVerified) }))
        try pipeline.addHandler(
            ApplicationProtocolNegotiationHandler { result, channel in
                channel.eventLoop.makeCompletedFuture {
                    channel.pipeline.syncOperations.removeHandler(failures, promise: nil)
                    try begin(result, channel, socketHandler)
                }
            })
        try pipeline.addHandler(failures)
    }

    private func begin(_ result: ALPNResult, _ channel: any Channel, _ socketHandler: SocketHandler) throws {
        guard result == .negotiated("h2") else { return channel.close(promise: nil) }
        let pipeline = channel.pipeline.syncOperations
        let certificate = try pipeline.nioSSL_peerCertificate().map { reader.read(try $0.toDERBytes()) }
        let state = ConnectionState(number: server.nextNumber(), certificate: certificate)
        let allowance = StreamAllowance(full: server.service.streams, hasCertificate: certificate != nil)
        let gate = FrameGate(initialLimit: allowance.announced) { [server] in server.service.check.quirks.ignorePings }
        try pipeline.addHandler(gate)
        try pipeline.addHandler(Listener.http2())
        try pipeline.addHandler(
            Connection(state, allowance: allowance, gate: gate, socketHandler: socketHandler, server: server))
    }

    /// The receive window of a connection and of each of its streams.
    static let windowBytes = 65_535

    /// NIO's HTTP/2 with the SETTINGS that were seen from APNs, except the stream limit, which ``FrameGate`` announces.
    /// NIO's checks of requests are off, because ``HeaderRules`` checks the requests. So malformed requests are
    /// recorded too.
    private static func http2() -> NIOHTTP2Handler {
        var connection = NIOHTTP2Handler.ConnectionConfiguration()
        connection.initialSettings = [
            HTTP2Setting(parameter: .headerTableSize, value: 4096),
            HTTP2Setting(parameter: .maxConcurrentStreams, value: Int(FrameGate.unlimited)),
            HTTP2Setting(parameter: .initialWindowSize, value: windowBytes),
            HTTP2Setting(parameter: .maxFrameSize, value: 16_384),
            HTTP2Setting(parameter: .maxHeaderListSize, value: 8000),
        ]
        connection.headerBlockValidation = .disabled
        connection.contentLengthValidation = .disabled
        connection.maximumRecentlyResetStreams = 10_000
        connection.controlFrameRateLimit.maximumCount = 1_000_000
        var stream = NIOHTTP2Handler.StreamConfiguration()
        stream.streamResetFrameRateLimit.maximumCount = 1_000_000
        stream.streamErrorRateLimit.maximumCount = 1_000_000
        return NIOHTTP2Handler(mode: .server, connectionConfiguration: connection, streamConfiguration: stream)
    }
}

/// Records connections that end with an error before HTTP/2 begins, mostly because the client does not trust the
/// server's certificate.
private final class HandshakeFailures: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny
    private let server: ServerState

    init(_ server: ServerState) { self.server = server }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let step = ConnectionEvent.Step.failed(reason: "\(error)")
        server.report(.connection(ConnectionEvent(time: server.service.now, connection: 0, step: step)))
        context.close(promise: nil)
    }
}
