import Glibc
import NIOCore

/// Nearest to the socket: pulls the connection, so that not even TLS says goodbye.
final class Plug: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private var context: ChannelHandlerContext?

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    /// The client sees a reset.
    func pull() {
        guard let context else { return }
        if let socket = context.channel as? any SocketOptionProvider {
            socket.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenFailure { _ in
                // Then it sees an end of file.
            }
        }
        context.close(promise: nil)
    }
}
