import HummingbirdCore
import NIOCore
import NIOHTTP1

/// Handles what HTTP/1 needs and HTTP/2 does not: `Connection: close`, and `100 Continue` before a body.
final class HTTP1Connection: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let options: WebServerOptions

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
        guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        // Hummingbird understands only this form of the header, and does not know that HTTP/1.0 closes by default.
        if !head.isKeepAlive { head.headers.replaceOrAdd(name: "connection", value: "close") }
        if needsContinue(head) {
            let interim = HTTPResponseHead(version: head.version, status: .continue)
            context.writeAndFlush(wrapOutboundOut(.head(interim)), promise: nil)
        }
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    // RFC 9110, section 10.1.1: a server that refuses the request by its head does not send `100 Continue`. This
    // check looks only at the length of the body.
    private func needsContinue(_ head: HTTPRequestHead) -> Bool {
        guard head.version == .http1_1,
            head.headers[canonicalForm: "expect"].contains(where: { $0.lowercased() == "100-continue" })
        else { return false }
        let bytesMax = options.bodyBytesMax(toPath: URI(head.uri).path)
        return head.headers["content-length"].allSatisfy { Int($0).map { $0 <= bytesMax } ?? false }
    }
}
