import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix

/// A bare Hummingbird server in this process, which answers every request with the same 299 bytes. It is the baseline
/// of the bench.
enum ConstantServer {
    /// - Parameter body: Called with the port.
    static func whileRunning<Value: Sendable>(_ body: @Sendable (Int) async throws -> Value) async throws -> Value {
        let threads = MultiThreadedEventLoopGroup(numberOfThreads: 2)
        let (ports, listening) = AsyncStream.makeStream(of: Int.self)
        let server = Server(
            childChannelSetup: HTTP1Channel(responder: answer),
            configuration: ServerConfiguration(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { listening.yield($0.localAddress?.port ?? 0) }, eventLoopGroup: threads,
            logger: Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() })
        async let running: Void = server.run()
        var port = 0
        for await listened in ports {
            port = listened
            break
        }
        let value = try await body(port)
        try await server.shutdownGracefully()
        try await running
        try await threads.shutdownGracefully()
        return value
    }

    private static let text = ByteBuffer(string: #"{"records":["# + String(repeating: " ", count: 285) + "]}")

    private static let answer: HTTPChannelHandler.Responder = { request, writer, _ in
        _ = try await request.body.collect(upTo: 1 << 20)
        try await writer.write(
            response: HTTPResponse(
                status: .ok, headerFields: [.contentType: "application/json", .contentLength: "\(text.readableBytes)"]),
            body: ResponseBody(byteBuffer: text))
    }
}
