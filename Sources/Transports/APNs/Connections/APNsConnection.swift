import NIOCore
import NIOTLS

/// One connection to APNs. Belongs to the event loop of its pool, which drives it.
final class APNsConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    var session = HTTP2Session()
    /// With tokens APNs allows one stream until it has answered a request (Sending notification requests to APNs).
    var isTrusted: Bool
    private(set) var isReady = false
    /// Whether no request is to be written any more: it ends when the last is answered.
    private(set) var isRetired = false
    var isDead = false
    var serverErrorsInARow = 0
    /// Whether it gave a request back too often.
    var isGivenUp = false
    private weak var pool: ConnectionPool?
    private var context: ChannelHandlerContext?
    private var lifeSigns = LifeSigns(at: .now())
    private var hasReported = false
    /// Why it ends, if nobody says anything else.
    private var ending: any Error = Trouble.closed

    init(_ pool: ConnectionPool, isTrusted: Bool) {
        self.pool = pool
        self.isTrusted = isTrusted
    }

    var active: Int { session.streams.count }

    /// How many requests it takes now.
    var room: Int {
        guard isReady, !isRetired, context != nil else { return 0 }
        return isTrusted ? session.room : min(session.room, max(0, 1 - active))
    }

    /// How many requests may be under way on it at a time.
    var capacity: Int {
        guard isReady, !isRetired, context != nil else { return 0 }
        return isTrusted ? session.streamsMax ?? 0 : 1
    }

    // MARK: Requests

    /// - Returns: The request's stream.
    func submit(_ push: APNsPush, _ shared: [SharedField], tag: Int) -> UInt32 {
        session.submit(
            HTTP2Request(
                shared: shared, own: push.fields, pathEnd: push.pathEnd, body: push.body, bodyRange: push.bodyRange),
            tag: tag)
    }

    func cancel(tag: Int, stream: UInt32) {
        session.cancel(tag: tag, stream: stream)
        settle()
    }

    func flush() {
        guard let context, session.output.readableBytes > 0 else { return }
        context.writeAndFlush(wrapOutboundOut(session.takeOutput()), promise: nil)
    }

    /// Lets what is under way end, and nothing begin.
    func retire() {
        isRetired = true
        if active == 0 { end() }
    }

    func end(because reason: any Error = Trouble.closed) {
        guard let context else { return }
        ending = reason
        if !session.hasFailed { session.fail(.noError, "") }
        flush()
        context.close(promise: nil)
    }

    /// Sends a PING where the connection has been silent for too long.
    ///
    /// - Returns: Whether the connection is dead.
    func checkHealth(at now: NIODeadline) -> Bool {
        guard isReady else { return false }
        switch lifeSigns.check(at: now, isBusy: active > 0) {
        case .well: return false
        case .dead: return true
        case .ask:
            session.ping()
            flush()
            return false
        }
    }

    // MARK: The channel

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case TLSUserEvent.handshakeCompleted(let agreed) = event {
            guard agreed == "h2" else {
                report(Trouble.noHTTP2)
                return context.close(promise: nil)
            }
            flush()
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        lifeSigns.noteRead(at: .now())
        unwrapInboundIn(data).withUnsafeReadableBytes { session.receive($0) }
    }

    func channelReadComplete(context: ChannelHandlerContext) { settle() }

    func channelInactive(context: ChannelHandlerContext) {
        session.close()
        settle()
        self.context = nil
        report(ending)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        report(error)
        context.close(promise: nil)
    }

    private func report(_ error: any Error) {
        guard !hasReported else { return }
        hasReported = true
        pool?.connectionFailed(self, error)
    }

    /// Tells the pool what the server's bytes said, and lets it write.
    private func settle() {
        for event in session.takeEvents() {
            if case .settings = event { isReady = true }
            if case .failed(_, let reason) = event, !reason.isEmpty { ending = ProtocolBreach(reason: reason) }
            pool?.handle(event, from: self)
        }
        if isRetired, active == 0 { return end() }
        if session.hasFailed {
            flush()
            context?.close(promise: nil)
        }
        pool?.fill()
        flush()
    }
}
