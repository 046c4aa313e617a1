import NIOCore
import NIOSSL

/// The handler nearest to the socket in a connection's channel pipeline. It closes a connection that has no
/// ``Exchange`` for too long: before the end of the TLS handshake, or without HTTP/2 streams. It delays a graceful
/// close until the answers that have ended are written to the socket. Only the connection's event loop may use it.
final class ConnectionWatch: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    /// How long a new connection may have no ``Exchange``. After its last HTTP/2 stream, the limit is twice as long.
    private let wait: Duration
    private var timer: ExpiryTimer?
    private var context: ChannelHandlerContext?
    private var delayedQuiesce: ChannelShouldQuiesceEvent?
    /// The number of open HTTP/2 streams; 1 for HTTP/1.
    private var exchanges = 0
    /// The number of answers that have ended but are not yet written to the socket.
    private var unflushedAnswers = 0
    private var isInputClosed = false
    private var isClosing = false
    private(set) var peer = Peer(nil)
    /// Whether the server has ended the connection without waiting for its answers.
    private(set) var wasForced = false

    init(wait: Duration) { self.wait = wait }

    static func of(_ connection: (any Channel)?) -> ConnectionWatch? {
        do { return try connection?.pipeline.syncOperations.handler(type: ConnectionWatch.self) } catch { return nil }
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        peer = Peer(context.channel.remoteAddress)
        timer = ExpiryTimer(context.eventLoop) { context.close(promise: nil) }
        timer?.set(wait)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        (timer, self.context) = (nil, nil)
    }

    func exchangeBegan() {
        exchanges += 1
        timer?.set(nil)
    }

    func exchangeEnded() {
        exchanges -= 1
        // Hummingbird ends an idle HTTP/2 connection gracefully after `wait`. If the connection is still open after
        // twice this time, this timer closes it.
        if exchanges == 0 { timer?.set(wait + wait) }
    }

    func answerFlushBegan() { unflushedAnswers += 1 }

    func answerFlushEnded() {
        unflushedAnswers -= 1
        guard unflushedAnswers == 0, let event = delayedQuiesce.take() else { return }
        context?.fireUserInboundEventTriggered(event)
    }

    /// Called when the TLS handler begins to close the connection. The TLS handler waits for the client's
    /// `close_notify`, which a client that has disconnected never sends. So if the input is closed, this method closes
    /// the connection at once.
    fileprivate func tlsCloseBegan() {
        isClosing = true
        if isInputClosed { context?.close(promise: nil) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is ConnectionMustEnd:
            wasForced = true
            context.close(promise: nil)
        case let event as ChannelShouldQuiesceEvent where unflushedAnswers > 0: delayedQuiesce = event
        default:
            context.fireUserInboundEventTriggered(event)
            guard let event = event as? ChannelEvent, event == .inputClosed else { return }
            isInputClosed = true
            if isClosing { context.close(promise: nil) }
        }
    }
}

/// An event that closes a connection at once, even during a request.
struct ConnectionMustEnd {}

/// On a TLS connection, passes each close to the TLS handler one turn of the event loop later, because Hummingbird
/// closes an HTTP/2 connection while the last answer is still on its way to the TLS handler.
final class LateClose: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = ByteBuffer

    static func add(to pipeline: ChannelPipeline.SynchronousOperations) throws {
        try pipeline.addHandler(LateClose(), position: .after(pipeline.handler(type: NIOSSLServerHandler.self)))
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        context.eventLoop.assumeIsolated().execute {
            context.close(mode: mode, promise: promise)
            if mode == .all { ConnectionWatch.of(context.channel)?.tlsCloseBegan() }
        }
    }
}
