import NIOCore
import NIOTLS

/// The channel handler of one connection to APNs. Only the event loop of its pool may use it.
final class APNsConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    let id: Int
    var session = HTTP2Session()
    private weak var pool: ConnectionPool?
    private var context: ChannelHandlerContext?
    private var isSecure = false
    /// Whether bytes arrived that the pool does not know about yet.
    private var hasRead = false

    init(_ pool: ConnectionPool, _ id: Int) { (self.pool, self.id) = (pool, id) }

    func submit(_ push: APNsPush, _ shared: [SharedField], tag: Int) {
        session.submit(
            HTTP2Request(
                shared: shared, own: push.fields, pathEnd: push.pathEnd, body: push.body, bodyRange: push.bodyRange),
            tag: tag)
    }

    func cancel(tag: Int) {
        session.cancel(tag: tag)
        reportEvents()
    }

    func flush() {
        guard isSecure, let context, session.output.readableBytes > 0 else { return }
        context.writeAndFlush(wrapOutboundOut(session.takeOutput()), promise: nil)
    }

    func close() {
        guard let context else { return }
        if !session.hasEnded { session.fail(.noError, "") }
        flush()
        context.close(promise: nil)
    }

    // MARK: The channel

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelActive(context: ChannelHandlerContext) {
        pool?.tell { state, _ in state.progressed(id, missing: .noTLSAnswer) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case TLSUserEvent.handshakeCompleted(let agreed) = event {
            guard agreed == "h2" else { return errorCaught(context: context, error: ConnectionFailure.noHTTP2) }
            isSecure = true
            pool?.tell { state, _ in state.progressed(id, missing: .noSettings) }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        hasRead = true
        unwrapInboundIn(data).withUnsafeReadableBytes { session.receive($0) }
    }

    func channelReadComplete(context: ChannelHandlerContext) { reportEvents() }

    func channelInactive(context: ChannelHandlerContext) {
        session.close()
        reportEvents()
        self.context = nil
        pool?.ended(id, nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        pool?.ended(id, error)
        context.close(promise: nil)
    }

    /// Passes the session's events to the pool, which may then write.
    private func reportEvents() {
        let (events, hasRead, isOver) = (session.takeEvents(), hasRead, session.hasEnded)
        self.hasRead = false
        pool?.tell { $0.received(events, from: id, hasRead: hasRead, isOver: isOver, at: $1) }
    }
}
