import Foundation
import NIOCore

/// Asks an HTTP proxy for a tunnel before anything else is sent (RFC 9110, section 9.3.6), and then removes itself from
/// the pipeline.
final class ProxyTunnel: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private static let headBytesMax = 16 << 10

    private let request: String
    private var head = ByteBuffer()

    /// - Parameter authorization: See ``basic(_:)``.
    init(to host: String, _ port: Int, authorization: String?) {
        let login = authorization.map { "Proxy-Authorization: \($0)\r\n" } ?? ""
        let target = "\(ServerName.bracketed(host)):\(port)"
        request = "CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\(login)\r\n"
    }

    /// - Parameter login: `user:password` (RFC 7617).
    static func basic(_ login: String) -> String { "Basic " + Data(login.utf8).base64EncodedString() }

    /// Asks for the tunnel. The next handlers get `channelActive` once it is open.
    func channelActive(context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: request)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        head.writeBuffer(&bytes)
        let text = String(buffer: head)
        guard let end = text.range(of: "\r\n\r\n") else {
            if head.readableBytes > Self.headBytesMax { fail(context, "an answer without an end") }
            return
        }
        let status = text[..<end.lowerBound].split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        guard 200...299 ~= status else { return fail(context, "status \(status)") }
        context.fireChannelActive()
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.fireErrorCaught(ProxyRefused(reason: "it closed the connection"))
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        context.fireErrorCaught(ProxyRefused(reason: "it closed the connection"))
        context.fireChannelInactive()
    }

    private func fail(_ context: ChannelHandlerContext, _ reason: String) {
        context.fireErrorCaught(ProxyRefused(reason: reason))
        context.close(promise: nil)
    }
}

struct ProxyRefused: Error {
    let reason: String
}
