import LocalAPNs
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

@testable import TransportAPNs

/// A server that accepts connections, and then behaves as its conduct says.
final class RawServer: Sendable {
    enum Conduct: Sendable, CaseIterable {
        /// Accepts TCP, and sends nothing.
        case noTLS
        /// Completes TLS, and sends no frame.
        case noSettings
        /// Sends SETTINGS that allow no stream.
        case noRoom
        case goAwayAtOnce
        /// Answers each request with a GOAWAY that says that no request was processed.
        case goAwayAfterRequest
        /// Answers no request.
        case silence
        /// Accepts every push.
        case answers
    }

    let port: Int
    private let threads = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let listener: any Channel
    private let state: State

    /// - Parameter folder: The folder of the authority that the client trusts. A missing authority is made.
    init(_ conduct: Conduct, in folder: String) async throws {
        let (state, tls, threads) = (State(conduct), try Self.tls(folder), threads)
        self.state = state
        listener = try await ServerBootstrap(group: threads)
            .childChannelInitializer { channel in
                let conduct = state.countConnection()
                return channel.eventLoop.makeCompletedFuture {
                    guard conduct != .noTLS else { return }
                    try channel.pipeline.syncOperations.addHandlers(
                        NIOSSLServerHandler(context: tls), RawConnection(conduct, state))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        port = listener.localAddress?.port ?? 0
    }

    /// The conduct on new connections. Open connections keep their conduct.
    var conduct: Conduct {
        get { state.value.withLock(\.conduct) }
        set { state.value.withLock { $0.conduct = newValue } }
    }

    /// How many connections the server has accepted so far.
    var connections: Int { state.value.withLock(\.connections) }
    var requests: Int { state.value.withLock(\.requests) }

    func stop() async throws {
        try await listener.close()
        try await threads.shutdownGracefully()
    }

    private static func tls(_ folder: String) throws -> NIOSSLContext {
        var configuration = LocalAPNs.Configuration()
        configuration.folder = folder
        let paths = try Credentials(configuration).makeServerCertificate(names: ["localhost"])
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(paths.certificate).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: paths.key, format: .pem)))
        tls.applicationProtocols = ["h2"]
        return try NIOSSLContext(configuration: tls)
    }

    fileprivate final class State: Sendable {
        let value: Mutex<(conduct: Conduct, connections: Int, requests: Int)>

        init(_ conduct: Conduct) { value = Mutex((conduct, 0, 0)) }

        /// - Returns: The conduct on the new connection.
        func countConnection() -> Conduct {
            value.withLock {
                $0.connections += 1
                return $0.conduct
            }
        }
    }
}

private final class RawConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let conduct: RawServer.Conduct
    private let state: RawServer.State
    private var unread: [UInt8] = []
    private var hasBegun = false

    init(_ conduct: RawServer.Conduct, _ state: RawServer.State) { (self.conduct, self.state) = (conduct, state) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        unread += unwrapInboundIn(data).readableBytesView
        if !hasBegun {
            guard unread.count >= HTTP2Session.preface.utf8.count else { return }
            unread.removeFirst(HTTP2Session.preface.utf8.count)
            hasBegun = true
            greet(context)
        }
        while let stream = nextFrame() {
            if let stream { answer(stream, context) }
        }
    }

    /// - Returns: The stream if the frame begins a request, an inner nil for other frames, an outer nil if there is no
    ///   whole frame.
    private func nextFrame() -> UInt32?? {
        guard unread.count >= FrameHeader.byteCount else { return nil }
        let header = unread.withUnsafeBytes { FrameHeader($0) }
        guard unread.count >= FrameHeader.byteCount + header.length else { return nil }
        unread.removeFirst(FrameHeader.byteCount + header.length)
        return .some(header.kind == FrameKind.headers.rawValue ? header.stream : nil)
    }

    private func greet(_ context: ChannelHandlerContext) {
        guard conduct != .noSettings else { return }
        let streams: UInt32 = conduct == .noRoom ? 0 : 100
        write(ServerFrames.settings([(SettingID.concurrentStreamsMax, streams)]), context)
        if conduct == .goAwayAtOnce { write(ServerFrames.goAway(last: 0), context) }
    }

    private func answer(_ stream: UInt32, _ context: ChannelHandlerContext) {
        state.value.withLock { $0.requests += 1 }
        switch conduct {
        case .goAwayAfterRequest: write(ServerFrames.goAway(last: 0), context)
        case .answers: write(ServerFrames.answer(stream, status: 200), context)
        default: break
        }
    }

    private func write(_ bytes: [UInt8], _ context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
    }
}
