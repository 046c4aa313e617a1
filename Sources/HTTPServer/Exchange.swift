import HTTPTypes
import HummingbirdCore
import NIOCore
import NIOHTTP1
import NIOHTTPTypes

/// The handler of an HTTP/1 connection or an HTTP/2 stream, for its requests and their answers. It passes a request to
/// the responder when the whole request has arrived, or at once if the answer does not depend on the body. Then it
/// writes the answer. It enforces the limits of time and size. If the options ask for it, the handler gives each
/// request an ID, and reports to the access log each request whose head was read. Only the handler's event loop may use
/// it.
///
/// Hummingbird, whose handlers come behind this one, sees no request: its asynchronous sequences of parts take more
/// time than the rest of the server. Hummingbird opens and closes connections and HTTP/2 streams.
final class Exchange: ChannelInboundHandler, ChannelOutboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// The exchange of one request, for any thread.
    struct Reference: Sendable {
        fileprivate let exchange: NIOLoopBound<Exchange>
        fileprivate let number: Int

        var eventLoop: any EventLoop { exchange.eventLoop }

        /// - Parameter body: Runs on the event loop. Its second parameter is the request's number.
        func with(_ body: @escaping @Sendable (Exchange, Int) -> Void) {
            if eventLoop.inEventLoop {
                body(exchange.value, number)
            } else {
                eventLoop.execute { body(exchange.value, number) }
            }
        }
    }

    private enum Phase { case requesting, awaitingAnswer, writing }

    private let server: ServerState
    private var context: ChannelHandlerContext?
    private var executor: EventLoopExecutor?
    private var isHTTP1 = false
    private var phase: Phase?
    private var timer: ExpiryTimer?
    private var watch: ConnectionWatch?
    private var peer = Peer(nil)
    private var request: RequestInFlight?
    /// The number of the request, counted from 1 on the connection or stream.
    private var number = 0
    private var task: Task<Void, Never>?
    /// The number of answers that have ended but are not yet written to the socket.
    private var unflushedAnswers = 0
    private var isInputClosed = false
    private var closesWhenWritten = false
    /// Whether the server has answered an error of the HTTP/1 parser. All that the client sends afterwards is dropped.
    private var hasRefused = false
    /// Whether the last answer is written, and the handler now reads and drops the rest of the request.
    private var isDraining = false
    private var disconnectActions: [@Sendable () -> Void] = []

    init(_ server: ServerState) { self.server = server }

    func handlerAdded(context: ChannelHandlerContext) {
        (self.context, executor) = (context, EventLoopExecutor(context.eventLoop))
        isHTTP1 = HTTP1Connection.add(to: context.pipeline.syncOperations, server.options)
        watch = .of(isHTTP1 ? context.channel : context.channel.parent)
        peer = watch?.peer ?? Peer(context.channel.remoteAddress)
        watch?.exchangeBegan()
        timer = ExpiryTimer(context.eventLoop) { context.close(promise: nil) }
        enter(.requesting)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        watch?.exchangeEnded()
        (timer, watch, self.context) = (nil, nil, nil)
    }

    // MARK: What the request's responder asks for

    func whenClientIsGone(during number: Int, _ action: @escaping @Sendable () -> Void) {
        if isInputClosed { action() } else if number == self.number, request != nil { disconnectActions.append(action) }
    }

    func whenAnswered(during number: Int, _ action: @escaping @Sendable () -> Void) {
        if number == self.number, request != nil { request?.whenAnswered.append(action) } else { action() }
    }

    func note(_ notes: [AccessLogEntry.Note], for number: Int) {
        if number == self.number { request?.notes = notes }
    }

    // MARK: The request

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isDraining, !hasRefused else { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            number += 1
            request = RequestInFlight(head, server, peer)
        case .body(let part): request?.add(part)
        case .end:
            request?.isWhole = true
            updatePhase()
            answerIfReady()
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        answerIfReady()
        context.fireChannelReadComplete()
        if isDraining { context.read() }
    }

    private func answerIfReady() {
        guard let request, !request.isAnswering, !request.needsRest else { return }
        request.isAnswering = true
        if let refusal = request.refusal { answer(refusing: refusal) } else { respond(to: request) }
    }

    private func respond(to request: RequestInFlight) {
        guard let context else { return }
        let number = number
        let reference = Reference(exchange: NIOLoopBound(self, eventLoop: context.eventLoop), number: number)
        let whole = WebRequest(request, from: peer, reference)
        let room = request.takeRoom()
        server.tasks.begin()
        task = .immediate(executorPreference: executor) { [server] in
            let answer = await server.responder(whole)
            reference.with { exchange, number in
                var room = room
                room?.end()
                exchange.answer(answer, to: number)
                server.tasks.end()
            }
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let event = event as? ChannelEvent, event == .inputClosed { inputEnded(context) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        inputEnded(context)
        if watch?.wasForced == true { task?.cancel() }
        if let request = request.take() { end(request, isComplete: false) }
        context.fireChannelInactive()
    }

    private func inputEnded(_ context: ChannelHandlerContext) {
        isInputClosed = true
        if isDraining || request?.needsRest == true { context.close(promise: nil) }
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
        (hasRefused, closesWhenWritten) = (true, true)
        number += 1
        answer(refusing: error == .headerOverflow && request == nil ? .headTooLong : .malformed)
    }

    // MARK: The answer

    private func answer(refusing refusal: WebServerRefusal) {
        let headers = hasRefused ? [:] : request?.head.headerFields ?? [:]
        var answer = server.options.refuse(refusal, headers, request?.id)
        if let seconds = refusal.retryAfterSeconds { answer.headers[.retryAfter] = "\(seconds)" }
        request?.giveBackRoom()
        write(answer)
    }

    /// The client may have disconnected, or the connection may have been refused, since the responder got the request.
    /// Then the answer is dropped.
    private func answer(_ answer: WebResponse, to number: Int) {
        guard number == self.number, let request else { return }
        if answer.body.readableBytes > WebServerLimits.smallAnswerBytesMax {
            var room = server.answers.reservation(for: request.network)
            guard room.add(answer.body.readableBytes) else { return self.answer(refusing: .tooManyAnswers) }
            request.answerRoom = room
        }
        write(answer)
    }

    private func write(_ answer: WebResponse) {
        guard let context else { return }
        context.write(wrapOutboundOut(.head(completed(answer.head))), promise: nil)
        // RFC 9110, section 9.3.2: the answer to HEAD ends with its headers.
        if answer.body.readableBytes > 0, request?.head.method != .head {
            request?.bodyBytesWritten = answer.body.readableBytes
            context.write(wrapOutboundOut(.body(answer.body)), promise: nil)
        }
        writeEnd(context)
        context.flush()
        updatePhase()
    }

    private func completed(_ head: HTTPResponse) -> HTTPResponse {
        var head = head
        request?.status = head.status.code
        if let ids = server.options.requestIDs { head.headerFields[ids.header] = request?.id }
        // Closes the channel after this answer if the request has not arrived whole, or if the client asked for it.
        if let request, !request.isWhole || request.isLast { closesWhenWritten = true }
        if closesWhenWritten, isHTTP1 { head.headerFields[.connection] = "close" }
        return head
    }

    /// The client may have sent its next request already. Then `context.write` delivers the next request before it
    /// returns. So this method removes the answered request first.
    private func writeEnd(_ context: ChannelHandlerContext) {
        let written = context.eventLoop.makePromise(of: Void.self)
        let answered = request.take()
        (disconnectActions, task) = ([], nil)
        unflushedAnswers += 1
        watch?.answerFlushBegan()
        written.futureResult.assumeIsolated().whenComplete { result in
            self.unflushedAnswers -= 1
            self.watch?.answerFlushEnded()
            if let answered { self.end(answered, isComplete: result.isSuccess) }
            if result.isSuccess, self.mustDrain(answered) { self.drain(context) } else { self.continueOrClose(context) }
        }
        context.write(wrapOutboundOut(.end(nil)), promise: written)
    }

    /// Whether the client may still be sending the request. If the socket were closed with unread input, the client
    /// would get a reset connection, perhaps before it has read the answer.
    private func mustDrain(_ answered: RequestInFlight?) -> Bool {
        isHTTP1 && closesWhenWritten && unflushedAnswers == 0 && !isInputClosed && answered?.isWhole != true
    }

    private func drain(_ context: ChannelHandlerContext) {
        isDraining = true
        timer?.set(server.options.limits.drainWait)
        context.close(mode: .output, promise: nil)
        context.read()
    }

    private func end(_ request: RequestInFlight, isComplete: Bool) {
        request.giveBackRoom()
        for action in request.whenAnswered { action() }
        server.options.logRequest?(request.entry(isComplete: isComplete))
    }

    private func continueOrClose(_ context: ChannelHandlerContext) {
        guard unflushedAnswers > 0 || request != nil || !closesWhenWritten else { return context.close(promise: nil) }
        phase = nil
        updatePhase()
    }

    /// While the handler drops the rest of a request, a close has no effect. At all other times, a close of the input
    /// happens at once. Any other close waits until all requests that have begun to arrive are answered and the answers
    /// are written to the socket, and then closes the whole channel.
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard !isDraining else { return promise?.succeed() ?? () }
        guard mode != .input, unflushedAnswers > 0 || request != nil else {
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
        let limits = server.options.limits
        timer?.set(new == .awaitingAnswer ? nil : new == .writing ? limits.responseWait : limits.requestWait)
    }
}

extension Result {
    fileprivate var isSuccess: Bool {
        if case .success = self { true } else { false }
    }
}

/// Runs tasks on the thread of a connection's event loop, so that a request needs no change of threads.
final class EventLoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}
