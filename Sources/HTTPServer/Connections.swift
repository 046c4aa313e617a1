import HummingbirdCore
import HummingbirdHTTP2
import Logging
import NIOCore
import Synchronization

/// Sets up each new connection: counts it, and encrypts it with the current certificate if there is one.
final class Connections: ServerChildChannel {
    struct Value: ServerChildChannelValue {
        let channel: any Channel
        let handle: @Sendable (Logger) async -> Void
    }

    private let server: ServerState
    /// How new connections are set up: HTTP/1 in clear, or HTTP/2 and HTTP/1 over TLS.
    private let kind: Mutex<any ServerChildChannel>

    init(_ server: ServerState) {
        self.server = server
        kind = Mutex(HTTP1Channel(responder: Self.noResponder, configuration: server.http1))
        if let certificate = server.options.certificate { use(certificate) }
    }

    /// Hummingbird's responder. It gets no request, because ``Exchange`` answers all of them.
    private static let noResponder: HTTPChannelHandler.Responder = { _, _, _ in }

    func use(_ certificate: ServerCertificate) {
        do {
            let encrypted = try HTTP2UpgradeChannel(
                tlsConfiguration: certificate.configuration, configuration: server.http2, responder: Self.noResponder)
            kind.withLock { $0 = encrypted }
        } catch { preconditionFailure("a certificate that fits its key was refused: \(error)") }
    }

    /// The returned future never fails: after an error, this method closes the connection. If the future failed,
    /// Hummingbird would leave the socket open.
    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        guard server.openConnections.add(channel) else { return channel.eventLoop.makeSucceededFuture(closed(channel)) }
        let watched = channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(
                ConnectionWatch(wait: self.server.options.limits.requestWait))
        }
        let kind = kind.withLock { $0 }
        return watched.flatMap { self.setUp(kind, channel, logger) }.flatMapErrorThrowing { _ in self.closed(channel) }
    }

    private func setUp(
        _ kind: some ServerChildChannel, _ channel: any Channel, _ logger: Logger
    ) -> EventLoopFuture<Value> {
        kind.setup(channel: channel, logger: logger).flatMapThrowing { value in
            if kind is HTTP2UpgradeChannel { try LateClose.add(to: channel.pipeline.syncOperations) }
            return Value(channel: channel) { await kind.handle(value: value, logger: $0) }
        }
    }

    private func closed(_ channel: any Channel) -> Value {
        channel.close(promise: nil)
        return Value(channel: channel) { _ in }
    }

    func handle(value: Value, logger: Logger) async {
        await value.handle(logger)
    }
}

extension ServerState {
    fileprivate var http1: HTTP1Channel.Configuration {
        HTTP1Channel.Configuration(
            additionalChannelHandlers: [Exchange(self)],
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: options.limits.headBytesMax, maxHeaderListSize: options.limits.headBytesMax))
    }

    fileprivate var http2: HTTP2ChannelConfiguration {
        HTTP2ChannelConfiguration(
            idleTimeout: options.limits.requestWait, gracefulCloseTimeout: options.limits.responseWait,
            streamConfiguration: http1)
    }
}
