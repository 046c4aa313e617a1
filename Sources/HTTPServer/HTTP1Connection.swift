import NIOCore
import NIOHTTP1

/// What HTTP/1 has and HTTP/2 has not: requests one at a time, the ends of connections, and leave to send a body.
final class HTTP1Connection: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let limits: WebServerLimits

    init(_ limits: WebServerLimits) { self.limits = limits }

    /// Puts this handler in its place.
    ///
    /// - Returns: False where the pipeline is not one of HTTP/1.
    static func add(to pipeline: ChannelPipeline.SynchronousOperations, _ limits: WebServerLimits) -> Bool {
        do {
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandlers(
                [HTTPServerPipelineHandler(), HTTP1Connection(limits)], position: .after(decoder))
            return true
        } catch { return false }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        // Hummingbird knows this one form of the header, and nothing of HTTP/1.0.
        if !head.isKeepAlive { head.headers.replaceOrAdd(name: "connection", value: "close") }
        if waitsForLeave(head) {
            let leave = HTTPResponseHead(version: head.version, status: .continue)
            context.writeAndFlush(wrapOutboundOut(.head(leave)), promise: nil)
        }
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    // RFC 9110, section 10.1.1: a server that refuses the request by its head gives no leave to send the body.
    private func waitsForLeave(_ head: HTTPRequestHead) -> Bool {
        head.version == .http1_1 && head.headers[canonicalForm: "expect"].contains { $0.lowercased() == "100-continue" }
            && head.headers["content-length"].allSatisfy { Int($0).map { $0 <= limits.bodyBytesMax } ?? false }
    }
}
