import HummingbirdCore
import Logging
import NIOCore
import NIOPosix

/// An HTTP server that listens: HTTP/1.1 in clear, or HTTP/2 and HTTP/1.1 over TLS, by Hummingbird.
///
/// A request that waits for its answer occupies no thread.
package struct WebServer: Sendable {
    /// Answers a whole request. Its task is cancelled when the server stops without waiting for the answer.
    package typealias Responder = @Sendable (WebRequest) async -> WebResponse

    package let port: Int
    private let server: Server<Connections>
    private let state: ServerState
    private let connections: Connections
    private let threads: MultiThreadedEventLoopGroup
    private let running: Task<Void, Never>

    /// - Throws: ``ListenError``
    package static func start(_ options: WebServerOptions, _ responder: @escaping Responder) async throws -> WebServer {
        let threads = MultiThreadedEventLoopGroup(numberOfThreads: options.eventLoopThreads)
        do { return try await WebServer(options, threads, responder) } catch {
            try await threads.shutdownGracefully()
            throw ListenError(address: ListenAddress(host: options.host, port: options.port), cause: error)
        }
    }

    private init(
        _ options: WebServerOptions, _ threads: MultiThreadedEventLoopGroup, _ responder: @escaping Responder
    ) async throws {
        let state = ServerState(options, responder)
        let connections = Connections(state)
        let listening = threads.next().makePromise(of: Int.self)
        let server = Server(
            childChannelSetup: connections,
            configuration: ServerConfiguration(address: .hostname(options.host, port: options.port), backlog: 1024),
            onServerRunning: { listening.succeed($0.localAddress?.port ?? options.port) },
            eventLoopGroup: threads, logger: Logger(label: "HTTPServer") { _ in SwiftLogNoOpLogHandler() })
        running = Task { do { try await server.run() } catch { listening.fail(error) } }
        port = try await listening.futureResult.get()
        (self.server, self.state, self.connections, self.threads) = (server, state, connections, threads)
    }

    /// Checks that a server can listen at the address. Accepts no connection.
    package static func checkCanListen(at address: ListenAddress) async throws(ListenError) {
        do {
            try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .bind(host: address.host, port: address.port).get().close()
        } catch { throw ListenError(address: address, cause: error) }
    }

    /// Encrypts all new connections with this certificate.
    package func use(_ certificate: ServerCertificate) { connections.use(certificate) }

    /// Stops listening and closes idle connections at once. Closes a connection with open requests as soon as these are
    /// answered, and closes all connections when `limit` has passed.
    package func stop(within limit: Duration) async throws {
        try await withThrowingTaskGroup { group in
            group.addTask { try await server.shutdownGracefully() }
            group.addTask { try await Task.sleep(for: limit) }
            try await group.next()
            running.cancel()
            state.openConnections.closeAll()
            group.cancelAll()
        }
        await running.value
        await state.tasks.wait()
        try await threads.shutdownGracefully()
    }
}
