import NIOCore
import NIOSSL

/// The handler of a connection that is nearest to its socket. It ends a connection without requests, and holds a
/// graceful end back while an answer is being written. Belongs to its event loop.
final class ConnectionWatch: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let wait: Duration
    private var timer: ExpiryTimer?
    private var context: ChannelHandlerContext?
    private var heldBack: ChannelShouldQuiesceEvent?
    /// HTTP/2 streams that are open; 1 for HTTP/1.
    private var exchanges = 0
    private var answersBeingWritten = 0
    private var isInputClosed = false
    private var isClosing = false

    init(wait: Duration) { self.wait = wait }

    static func of(_ connection: (any Channel)?) -> ConnectionWatch? {
        do { return try connection?.pipeline.syncOperations.handler(type: ConnectionWatch.self) } catch { return nil }
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
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
        // HTTP/2 has said that it ends the connection after one wait.
        if exchanges == 0 { timer?.set(wait + wait) }
    }

    func answerBegan() { answersBeingWritten += 1 }

    func answerEnded() {
        answersBeingWritten -= 1
        guard answersBeingWritten == 0, let event = heldBack.take() else { return }
        context?.fireUserInboundEventTriggered(event)
    }

    /// The encryption waits for a farewell of the client's, which one that has gone will not send.
    fileprivate func encryptionCloses() {
        isClosing = true
        if isInputClosed { context?.close(promise: nil) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is ConnectionMustEnd: context.close(promise: nil)
        case let event as ChannelShouldQuiesceEvent where answersBeingWritten > 0: heldBack = event
        default:
            context.fireUserInboundEventTriggered(event)
            guard let event = event as? ChannelEvent, event == .inputClosed else { return }
            isInputClosed = true
            if isClosing { context.close(promise: nil) }
        }
    }
}

/// An event that closes a connection, whatever is under way.
struct ConnectionMustEnd {}

/// Closes a connection one turn of its event loop later: Hummingbird closes one of HTTP/2 while its last answer is on
/// its way to the encryption.
final class LateClose: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = ByteBuffer

    static func add(to pipeline: ChannelPipeline.SynchronousOperations) throws {
        try pipeline.addHandler(LateClose(), position: .after(pipeline.handler(type: NIOSSLServerHandler.self)))
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        context.eventLoop.assumeIsolated().execute {
            context.close(mode: mode, promise: promise)
            if mode == .all { ConnectionWatch.of(context.channel)?.encryptionCloses() }
        }
    }
}
