import Glibc
import NIOCore

/// The handler next to the socket, which can reset the connection without closing TLS first.
final class SocketHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private var context: ChannelHandlerContext?

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func resetConnection() {
        guard let context else { return }
        if let socket = context.channel as? any SocketOptionProvider {
            socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenFailure { _ in
                // Without this option, the client sees an end of file instead of a reset.
            }
        }
        context.close(promise: nil)
    }
}
