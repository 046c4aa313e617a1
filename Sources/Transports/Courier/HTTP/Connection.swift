import Foundation
import NIOCore
import NIOHTTP1
import Synchronization

/// One client's connection: a request at a time, and its answer. Belongs to its event loop.
final class Connection: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let service: Service
    private let origins: [String]
    private let pages: PagesUnderWay
    private var hasPage = false
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []
    private var isAnswering = false
    private var isWriting = false
    private var isInputClosed = false
    private var isGone: EventLoopPromise<Void>?
    private var deadline: Scheduled<Void>?

    init(_ service: Service, origins: [String], _ pages: PagesUnderWay) {
        self.service = service
        self.origins = origins
        self.pages = pages
    }

    func channelActive(context: ChannelHandlerContext) {
        isGone = context.eventLoop.makePromise()
        expectRequest(context)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        isGone?.succeed(())
        isGone = nil
        deadline?.cancel()
        givePageBack()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    /// Whoever is only half gone, or wholly, looks the same: an answer that is there goes out, a poll that waits ends.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard let event = event as? ChannelEvent, event == .inputClosed else {
            return context.fireUserInboundEventTriggered(event)
        }
        isInputClosed = true
        if isAnswering || isWriting { isGone?.succeed(()) } else { context.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): begin(head, context)
        case .body(let bytes): add(bytes, context)
        case .end: end(context)
        }
    }

    // MARK: The request

    private func begin(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        self.head = head
        body = []
        // RFC 9110, section 10.1.1: such a client waits for leave to send the body.
        let waits = head.headers[canonicalForm: "expect"].contains { $0.lowercased() == "100-continue" }
        if waits, head.version == .http1_1 {
            context.writeAndFlush(
                wrapOutboundOut(.head(HTTPResponseHead(version: head.version, status: .continue))), promise: nil)
        }
        if head.uri.utf8.count > CourierLimits.targetBytesMax {
            refuse(.uriTooLong, "path.too_long", "at most \(CourierLimits.targetBytesMax) bytes", context)
        }
    }

    private func add(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        guard head != nil, !isAnswering else { return }
        guard body.count + bytes.readableBytes <= CourierLimits.bodyBytesMax else {
            return refuse(
                .payloadTooLarge, "body.too_long", "at most \(CourierLimits.bodyBytesMax) bytes", context)
        }
        body.append(contentsOf: bytes.readableBytesView)
    }

    private func end(_ context: ChannelHandlerContext) {
        guard let head, !isAnswering, let isGone else { return }
        isAnswering = true
        deadline?.cancel()
        do throws(Route.Refusal) {
            let route = try Route(head.method, head.uri.pathOfAbsoluteForm ?? head.uri, body: body)
            guard takePage(for: route) else {
                return send(.unavailable("\(CourierLimits.pagesMax) pages are on their way"), to: head, context)
            }
            let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            service.answer(route, on: context.eventLoop, isGone: isGone.futureResult)
                .hop(to: context.eventLoop).whenSuccess { answer in
                    let (me, context) = bound.value
                    me.send(answer, to: head, context)
                }
        } catch {
            send(.refusal(error.status, error.code, error.reason), to: head, context)
        }
    }

    /// - Returns: False where too many are under way.
    private func takePage(for route: Route) -> Bool {
        guard case .fetch = route else { return true }
        hasPage = pages.add()
        return hasPage
    }

    private func givePageBack() {
        if hasPage { pages.remove() }
        hasPage = false
    }

    /// A request that is not read to its end ends the connection.
    private func refuse(
        _ status: HTTPResponseStatus, _ code: String, _ reason: String, _ context: ChannelHandlerContext
    ) {
        guard var head, !isAnswering else { return }
        isAnswering = true
        head.headers.replaceOrAdd(name: "connection", value: "close")
        send(.refusal(status, code, reason), to: head, context)
    }

    // MARK: The answer

    private func send(_ answer: HTTPAnswer, to request: HTTPRequestHead, _ context: ChannelHandlerContext) {
        guard context.channel.isActive else { return }
        setDeadline(CourierLimits.responseWait, context)
        isWriting = true
        let hadPage = hasPage
        hasPage = false
        // A client may have sent the next request already: that is read as soon as this answer's end is written.
        if request.isKeepAlive { (isAnswering, self.head) = (false, nil) }
        let head = HTTPResponseHead(
            version: request.version, status: answer.status, headers: headers(of: answer, to: request))
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        // RFC 9110, section 9.3.2: the answer to HEAD ends with its headers.
        if request.method != .HEAD {
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: answer.body)))), promise: nil)
        }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { result in
            let (me, context) = bound.value
            if hadPage { me.pages.remove() }
            me.isWriting = false
            let goesOn = request.isKeepAlive && !(me.isInputClosed && me.head == nil)
            guard case .success = result, goesOn else { return context.close(promise: nil) }
            if me.head == nil { me.expectRequest(context) }
        }
    }

    private func headers(of answer: HTTPAnswer, to request: HTTPRequestHead) -> HTTPHeaders {
        var headers = HTTPHeaders(answer.headers.map { ($0.name, $0.value) })
        headers.add(name: "cache-control", value: "no-store")
        if !answer.body.isEmpty { headers.add(name: "content-type", value: "application/json; charset=utf-8") }
        if answer.status != .noContent { headers.add(name: "content-length", value: "\(answer.body.count)") }
        if !request.isKeepAlive { headers.add(name: "connection", value: "close") }
        allowOrigin(of: request, &headers)
        return headers
    }

    // The Fetch standard, section 3.3: HTTP extensions (CORS).
    private func allowOrigin(of request: HTTPRequestHead, _ headers: inout HTTPHeaders) {
        guard !origins.isEmpty else { return }
        headers.add(name: "vary", value: "origin")
        guard let origin = request.headers.first(name: "origin"),
            origins.contains("*") || origins.contains(origin)
        else { return }
        headers.add(name: "access-control-allow-origin", value: origin)
        guard request.method == .OPTIONS else { return }
        headers.add(name: "access-control-allow-methods", value: "GET, POST")
        headers.add(name: "access-control-allow-headers", value: "content-type")
        headers.add(name: "access-control-max-age", value: "600")
    }

    // MARK: Patience

    private func expectRequest(_ context: ChannelHandlerContext) { setDeadline(CourierLimits.requestWait, context) }

    private func setDeadline(_ time: TimeAmount, _ context: ChannelHandlerContext) {
        deadline?.cancel()
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        deadline = context.eventLoop.scheduleTask(in: time) { bound.value.close(promise: nil) }
    }
}

/// How many pages are read, or not yet with their clients: they are what takes memory.
final class PagesUnderWay: Sendable {
    private let count = Mutex(0)

    func add() -> Bool {
        count.withLock { count in
            guard count < CourierLimits.pagesMax else { return false }
            count += 1
            return true
        }
    }

    func remove() { count.withLock { $0 -= 1 } }
}

extension String {
    /// `/PATH?QUERY` of `http://HOST/PATH?QUERY`; nil for another form. RFC 9112, section 3.2.2: servers take both.
    fileprivate var pathOfAbsoluteForm: String? {
        guard let scheme = range(of: "://"), ["http", "https"].contains(self[..<scheme.lowerBound].lowercased()) else {
            return nil
        }
        let rest = self[scheme.upperBound...]
        return rest.firstIndex(of: "/").map { String(rest[$0...]) } ?? "/"
    }
}
