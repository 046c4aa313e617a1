import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization

/// Takes connections, all on one event loop.
struct CourierServer: Sendable {
    private let threads: MultiThreadedEventLoopGroup
    private let listener: any Channel
    let port: Int
    let tls: PresentTLS

    static func start(
        host: String, port: Int, _ service: Service, origins: [String], tls: PresentTLS
    ) async throws -> CourierServer {
        let threads = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let connections = OpenConnections()
        let pages = PagesUnderWay()
        let bootstrap = ServerBootstrap(group: threads)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelOption(.backlog, value: 1024)
            // A client that has sent all that it will send still reads its answer.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                guard connections.add(channel) else { return channel.close() }
                return channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let tls = tls.value { try pipeline.addHandler(NIOSSLServerHandler(context: tls.context)) }
                    try pipeline.configureHTTPServerPipeline(withErrorHandling: true)
                    try pipeline.addHandler(Connection(service, origins: origins, pages))
                }
            }
        do {
            let listener = try await bootstrap.bind(host: host, port: port).get()
            return CourierServer(
                threads: threads, listener: listener, port: listener.localAddress?.port ?? port, tls: tls)
        } catch {
            try await threads.shutdownGracefully()
            throw error
        }
    }

    /// Sees whether it could listen there, and takes no connection.
    static func tryOut(host: String, port: Int) async throws {
        try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .bind(host: host, port: port).get().close()
    }

    /// Takes no more connections.
    func stopListening() async throws { try await listener.close() }

    /// Ends all connections.
    func stop() async throws { try await threads.shutdownGracefully() }
}

/// Counts connections, so that there are never too many.
private final class OpenConnections: Sendable {
    private let count = Mutex(0)

    func add(_ channel: any Channel) -> Bool {
        let isRoom = count.withLock { count in
            guard count < CourierLimits.connectionsMax else { return false }
            count += 1
            return true
        }
        if isRoom { channel.closeFuture.whenComplete { _ in self.count.withLock { $0 -= 1 } } }
        return isRoom
    }
}
