import Foundation
import NIOCore

/// The channel handler that asks an HTTP proxy for a tunnel before anything else is sent (RFC 9110, section 9.3.6), and
/// removes itself from the channel when the tunnel is open.
final class ProxyTunnel: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private static let headBytesMax = 16 << 10

    private let request: String
    private var head = ByteBuffer()

    /// - Parameter authorization: The value of `Proxy-Authorization`; nil if the proxy needs no login.
    init(to host: String, _ port: Int, authorization: String?) {
        let login = authorization.map { "Proxy-Authorization: \($0)\r\n" } ?? ""
        let target = "\(ServerName.bracketed(host)):\(port)"
        request = "CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\(login)\r\n"
    }

    /// The value of `Proxy-Authorization` (RFC 7617).
    ///
    /// - Parameter login: `user:password`.
    static func basic(_ login: String) -> String { "Basic " + Data(login.utf8).base64EncodedString() }

    /// Asks for the tunnel. The next handlers get `channelActive` once the tunnel is open.
    func channelActive(context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: request)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        head.writeBuffer(&bytes)
        let text = String(buffer: head)
        guard let end = text.range(of: "\r\n\r\n") else {
            if head.readableBytes > Self.headBytesMax {
                fail(context, "its answer has more than \(Self.headBytesMax) bytes of headers")
            }
            return
        }
        guard let status = text[..<end.lowerBound].split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
            return fail(context, "its answer is not HTTP")
        }
        guard 200...299 ~= status else { return fail(context, "it answered with status \(status)") }
        context.fireChannelActive()
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let isReset = (error as? IOError)?.errnoCode == ECONNRESET
        context.fireErrorCaught(ProxyRefused(reason: isReset ? "it closed the connection" : "\(error)"))
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
