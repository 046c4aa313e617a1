import HTTPTypes
import HummingbirdCore
import NIOCore
import NIOHTTP1
import NIOHTTPTypes

/// The handler of an HTTP/1 connection or an HTTP/2 stream, for its requests and their answers. It enforces the time
/// limits. If the options ask for it, the handler gives each request an ID, and reports to the access log each request
/// whose head was read. Only the handler's event loop may use it.
final class Exchange: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private enum Phase { case requesting, awaitingAnswer, writing }

    private let options: WebServerOptions
    private var isHTTP1 = false
    private var phase: Phase?
    private var timer: ExpiryTimer?
    private var watch: ConnectionWatch?
    private var request: RequestInFlight?
    /// The number of answers that have ended but are not yet written to the socket.
    private var unflushedAnswers = 0
    private var isInputClosed = false
    private var closesWhenWritten = false
    private var hasRefused = false
    /// Whether the last answer is written, and the handler now reads and drops the rest of the request.
    private var isDraining = false
    private var disconnectActions: [@Sendable () -> Void] = []

    init(_ options: WebServerOptions) { self.options = options }

    func handlerAdded(context: ChannelHandlerContext) {
        isHTTP1 = HTTP1Connection.add(to: context.pipeline.syncOperations, options)
        watch = .of(isHTTP1 ? context.channel : context.channel.parent)
        watch?.exchangeBegan()
        timer = ExpiryTimer(context.eventLoop) { context.close(promise: nil) }
        enter(.requesting)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        watch?.exchangeEnded()
        (timer, watch) = (nil, nil)
    }

    // MARK: What the request's responder asks for

    func whenClientIsGone(_ action: @escaping @Sendable () -> Void) {
        if isInputClosed { action() } else if request != nil { disconnectActions.append(action) }
    }

    func whenAnswered(_ action: @escaping @Sendable () -> Void) {
        if request == nil { action() } else { request?.whenAnswered.append(action) }
    }

    func note(_ notes: [AccessLogEntry.Note]) { request?.notes = notes }

    // MARK: The request

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isDraining else { return }
        switch unwrapInboundIn(data) {
        case .head(let head): context.fireChannelRead(wrapInboundOut(.head(begin(head, context))))
        case .body: context.fireChannelRead(data)
        case .end:
            request?.isWhole = true
            updatePhase()
            context.fireChannelRead(data)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        if isDraining { context.read() }
    }

    private func begin(_ head: HTTPRequest, _ context: ChannelHandlerContext) -> HTTPRequest {
        var head = head
        let id = options.requestIDs?.make()
        if let ids = options.requestIDs { head.headerFields[ids.header] = id }
        let client = options.client(of: head.headerFields, context.channel)
        request = RequestInFlight(head, id: id, client: client)
        return head
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? ChannelEvent, event == .inputClosed { endInput(context) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        endInput(context)
        if let request { end(request, isComplete: false) }
        request = nil
        context.fireChannelInactive()
    }

    /// Hummingbird would take the end of the input for the end of the body, even if the body is incomplete. So it gets
    /// an error first.
    private func endInput(_ context: ChannelHandlerContext) {
        isInputClosed = true
        if isDraining { context.close(promise: nil) }
        if let request, !request.isWhole { context.fireErrorCaught(ChannelError.inputClosed) }
        for action in disconnectActions { action() }
        disconnectActions = []
    }

    /// Ignores errors after the last answer of a connection, because the parser also reports that the input ended
    /// inside a body that was already refused.
    ///
    /// Before that, answers an error of the HTTP/1 parser with a refusal if no answer has begun. Any other error closes
    /// the HTTP/1 connection or the HTTP/2 stream.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard !closesWhenWritten || request != nil else { return }
        guard let error = error as? HTTPParserError, isHTTP1, request?.status == nil else {
            return context.close(promise: nil)
        }
        refuse(error == .headerOverflow && request == nil ? .headTooLong : .malformed, context)
    }

    private func refuse(_ refusal: WebServerRefusal, _ context: ChannelHandlerContext) {
        let answer = options.refuse(refusal, [:])
        closesWhenWritten = true
        for part in [HTTPResponsePart.head(answer.head), .body(answer.body), .end(nil)] {
            write(part, nil, context)
        }
        hasRefused = true
        flush(context: context)
        context.fireErrorCaught(ChannelError.inputClosed)
    }

    // MARK: The answer

    /// The responder may answer a request that was refused in the meantime. That answer is dropped.
    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !hasRefused else { return promise?.fail(ChannelError.outputClosed) ?? () }
        write(unwrapOutboundIn(data), promise, context)
    }

    private func write(_ part: HTTPResponsePart, _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext) {
        switch part {
        case .head(let head): context.write(wrapOutboundOut(.head(completed(head))), promise: promise)
        case .body where request?.method == .head:
            // RFC 9110, section 9.3.2: the answer to HEAD ends with its headers.
            promise?.succeed()
        case .body(let body):
            request?.bodyBytesWritten += body.readableBytes
            context.write(wrapOutboundOut(part), promise: promise)
        case .end: writeEnd(part, promise, context)
        }
    }

    private func completed(_ head: HTTPResponse) -> HTTPResponse {
        var head = head
        request?.status = head.status.code
        if let ids = options.requestIDs { head.headerFields[ids.header] = request?.id }
        // Closes the channel after this answer if the request has not arrived whole, or if the client asked for it.
        if let request, !request.isWhole || request.isLast { closesWhenWritten = true }
        if closesWhenWritten, isHTTP1 { head.headerFields[.connection] = "close" }
        return head
    }

    /// The client may have sent its next request already. Then `context.write` delivers the next request before it
    /// returns. So this method removes the answered request first.
    private func writeEnd(
        _ part: HTTPResponsePart, _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext
    ) {
        let written = promise ?? context.eventLoop.makePromise()
        let answered = request.take()
        disconnectActions = []
        unflushedAnswers += 1
        watch?.answerFlushBegan()
        written.futureResult.assumeIsolated().whenComplete { result in
            self.unflushedAnswers -= 1
            self.watch?.answerFlushEnded()
            if let answered { self.end(answered, isComplete: result.isSuccess) }
            if result.isSuccess, self.mustDrain(answered) { self.drain(context) } else { self.continueOrClose(context) }
        }
        context.write(wrapOutboundOut(part), promise: written)
    }

    /// Whether the client may still be sending the request. If the socket were closed with unread input, the client
    /// would get a reset connection, perhaps before it has read the answer.
    private func mustDrain(_ answered: RequestInFlight?) -> Bool {
        isHTTP1 && closesWhenWritten && unflushedAnswers == 0 && !isInputClosed && answered?.isWhole != true
    }

    private func drain(_ context: ChannelHandlerContext) {
        isDraining = true
        timer?.set(options.limits.drainWait)
        context.close(mode: .output, promise: nil)
        context.read()
    }

    private func end(_ request: RequestInFlight, isComplete: Bool) {
        for action in request.whenAnswered { action() }
        options.logRequest?(request.entry(isComplete: isComplete))
    }

    private func continueOrClose(_ context: ChannelHandlerContext) {
        guard unflushedAnswers > 0 || !closesWhenWritten else { return context.close(promise: nil) }
        phase = nil
        updatePhase()
    }

    func flush(context: ChannelHandlerContext) {
        context.flush()
        updatePhase()
    }

    /// While the handler drops the rest of a request, a close has no effect. At all other times, a close of the input
    /// happens at once. Any other close waits until the answers that have ended are written to the socket, and then
    /// closes the whole channel.
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard !isDraining else { return promise?.succeed() ?? () }
        guard mode != .input, unflushedAnswers > 0 else {
            return context.close(mode: mode == .input ? .input : .all, promise: promise)
        }
        closesWhenWritten = true
        promise?.succeed()
    }

    // MARK: Time limits

    private func updatePhase() {
        let isWriting = unflushedAnswers > 0 || request?.status != nil
        enter(isWriting ? .writing : request?.isWhole == true ? .awaitingAnswer : .requesting)
    }

    private func enter(_ new: Phase) {
        guard new != phase, !isDraining else { return }
        phase = new
        let limits = options.limits
        timer?.set(new == .awaitingAnswer ? nil : new == .writing ? limits.responseWait : limits.requestWait)
    }
}

extension Result {
    fileprivate var isSuccess: Bool {
        if case .success = self { true } else { false }
    }
}
