import HummingbirdCore
import NIOCore
import NIOHTTP1

/// Handles what HTTP/1 needs and HTTP/2 does not: the rules for `Host` and `Transfer-Encoding`, `Connection: close`,
/// and `100 Continue` before a body. Joins the chunks of a body that arrive together, because passing on one more
/// part costs as much as passing on thousands of bytes more.
final class HTTP1Connection: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let options: WebServerOptions
    /// Whether the last head was refused. All that follows it is dropped.
    private var hasRefused = false
    /// The part of the body that has arrived but is not passed on yet.
    private var body: ByteBuffer?

    init(_ options: WebServerOptions) { self.options = options }

    /// Adds two handlers after the HTTP/1 decoder: NIO's `HTTPServerPipelineHandler`, which passes on a request only
    /// when the previous request is answered, and an ``HTTP1Connection``.
    ///
    /// - Returns: False if the pipeline has no HTTP/1 decoder.
    static func add(to pipeline: ChannelPipeline.SynchronousOperations, _ options: WebServerOptions) -> Bool {
        do {
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandlers(
                [HTTPServerPipelineHandler(), HTTP1Connection(options)], position: .after(decoder))
            return true
        } catch { return false }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasRefused else { return }
        switch unwrapInboundIn(data) {
        case .head(let head): begin(head, context)
        case .body(let chunk): if body == nil { body = chunk } else { body?.writeImmutableBuffer(chunk) }
        case .end:
            passOnBody(context)
            context.fireChannelRead(data)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        passOnBody(context)
        context.fireChannelReadComplete()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        passOnBody(context)
        context.fireErrorCaught(error)
    }

    private func passOnBody(_ context: ChannelHandlerContext) {
        if let body = body.take() { context.fireChannelRead(wrapInboundOut(.body(body))) }
    }

    private func begin(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        guard head.isValid else {
            hasRefused = true
            return context.fireErrorCaught(HTTPParserError.invalidHeaderToken)
        }
        var head = head
        // ``RequestInFlight/isLast`` understands only this form of the header, and does not know that HTTP/1.0 closes
        // by default.
        if !head.isKeepAlive { head.headers.replaceOrAdd(name: "connection", value: "close") }
        if needsContinue(head) {
            let interim = HTTPResponseHead(version: head.version, status: .continue)
            context.writeAndFlush(wrapOutboundOut(.head(interim)), promise: nil)
        }
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    // RFC 9110, section 10.1.1: a server that refuses the request because of its head does not send
    // `100 Continue`. This check does not know whether the server has room for the body.
    private func needsContinue(_ head: HTTPRequestHead) -> Bool {
        guard head.version == .http1_1,
            head.headers[canonicalForm: "expect"].contains(where: { $0.lowercased() == "100-continue" })
        else { return false }
        let request = WebRequestHead(head)
        let bytesMax = options.bodyBytesMax(toPath: request.path)
        return head.headers["content-length"].allSatisfy { Int($0).map { $0 <= bytesMax } ?? false }
            && options.needsBody(request)
    }
}

extension HTTPRequestHead {
    /// Whether the headers follow the rules that the decoder does not check.
    fileprivate var isValid: Bool {
        // RFC 9112, section 3.2: one `Host`; only HTTP/1.0 may lack it.
        let hostCount = headers["host"].count
        guard hostCount == 1 || (hostCount == 0 && version == .http1_0) else { return false }
        // RFC 9112, section 6.1: HTTP/1.0 has no transfer coding. For HTTP/1.1, the decoder understands only `chunked`.
        let encodings = headers["transfer-encoding"]
        return encodings.isEmpty || (version == .http1_1 && encodings.map { $0.lowercased() } == ["chunked"])
    }
}
