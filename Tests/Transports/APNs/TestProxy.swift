import NIOCore
import NIOPosix
import Synchronization

/// An HTTP proxy that opens the requested tunnels, or refuses them.
final class TestProxy: Sendable {
    enum Conduct: Sendable {
        case open
        /// Answers with this status instead of opening a tunnel.
        case refuse(Int)
        /// Opens a tunnel only for requests with this `Proxy-Authorization`. Other requests get 407.
        case openTo(String)
    }

    let port: Int
    private let threads = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let listener: any Channel
    private let heads: RequestHeads

    init(_ conduct: Conduct) async throws {
        let (heads, threads) = (RequestHeads(), threads)
        self.heads = heads
        listener = try await ServerBootstrap(group: threads)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(ProxyHandler(conduct, heads))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        port = listener.localAddress?.port ?? 0
    }

    /// The heads of the requests.
    var requests: [String] { heads.all }

    func stop() async throws {
        try await listener.close()
        try await threads.shutdownGracefully()
    }
}

private final class RequestHeads: Sendable {
    private let state = Mutex<[String]>([])
    var all: [String] { state.withLock(\.self) }
    func append(_ head: String) { state.withLock { $0.append(head) } }
}

/// Reads the client's request. If it opens the tunnel, it passes the client's later bytes to the server.
private final class ProxyHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let conduct: TestProxy.Conduct
    private let heads: RequestHeads
    private var head = ""
    /// The connection to the server at the end of the tunnel; nil before the tunnel is open.
    private var server: (any Channel)?

    init(_ conduct: TestProxy.Conduct, _ heads: RequestHeads) { (self.conduct, self.heads) = (conduct, heads) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        if let server { return server.writeAndFlush(bytes, promise: nil) }
        head += String(buffer: bytes)
        guard head.hasSuffix("\r\n\r\n") else { return }
        heads.append(head)
        switch status {
        case 200: connect(context)
        case let status:
            answer(context, "\(status) No")
            context.close(promise: nil)
        }
    }

    func channelInactive(context: ChannelHandlerContext) { server?.close(promise: nil) }

    private var status: Int {
        switch conduct {
        case .open: 200
        case .refuse(let status): status
        case .openTo(let login): head.contains("\r\nProxy-Authorization: \(login)\r\n") ? 200 : 407
        }
    }

    private func connect(_ context: ChannelHandlerContext) {
        let target = head.split(separator: " ")[1].split(separator: ":")
        let back = context.channel
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        ClientBootstrap(group: context.eventLoop)
            .channelInitializer { $0.pipeline.addHandler(WayBack(back)) }
            .connect(host: String(target[0]), port: Int(target[1]) ?? 0)
            .whenComplete { result in
                let (handler, context) = bound.value
                switch result {
                case .success(let channel):
                    handler.server = channel
                    handler.answer(context, "200 Established")
                case .failure:
                    handler.answer(context, "502 Bad Gateway")
                    context.close(promise: nil)
                }
            }
    }

    private func answer(_ context: ChannelHandlerContext, _ status: String) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: "HTTP/1.1 \(status)\r\n\r\n")), promise: nil)
    }
}

/// Passes the server's bytes to the client.
private final class WayBack: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    private let client: any Channel

    init(_ client: any Channel) { self.client = client }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        client.writeAndFlush(unwrapInboundIn(data), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { client.close(promise: nil) }
}
