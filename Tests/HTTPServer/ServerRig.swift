import Foundation
import HTTPTypes
import Synchronization
import TestSupport
import Testing

@testable import HTTPServer

/// A server with its requests and its access log.
final class ServerRig: Sendable {
    let server: WebServer
    let requests = Mutex<[WebRequest]>([])
    let log = ValueRecorder<AccessLogEntry>()
    let heldRequests = ValueRecorder<HeldRequest>()

    init(_ change: (inout WebServerOptions) throws -> Void = { _ in }) async throws {
        var options = WebServerOptions(host: "127.0.0.1", port: 0)
        let log = log
        options.logRequest = { log.add($0) }
        try change(&options)
        let reference = RigReference()
        server = try await WebServer.start(options) { await reference.rig?.answer($0) ?? WebResponse(status: .ok) }
        reference.rig = self
    }

    static let big = Array(repeating: UInt8(ascii: "x"), count: 8 << 20)

    /// Answers `/held` when the test ends the request, when the client disconnects or closes its sending side, or when
    /// the server cancels the request. The answer of `/big` is longer than what sockets buffer. The answers of other
    /// paths have the request's body.
    private func answer(_ request: WebRequest) async -> WebResponse {
        requests.withLock { $0.append(request) }
        switch request.path {
        case "/held":
            let request = HeldRequest(request)
            heldRequests.add(request)
            return await request.answer()
        case "/big": return WebResponse(status: .ok, body: Self.big)
        default: return WebResponse(status: .ok, headers: [.contentType: "text/plain"], body: request.body)
        }
    }

    /// - Parameter source: The address of this machine that the connection comes from; nil for the system's choice.
    func connect(from source: String? = nil) throws -> RawClient { try RawClient(port: server.port, from: source) }

    func stop() async throws { try await server.stop(within: .seconds(30)) }

    /// A reference to the rig. The server needs the reference before the rig's initializer is done.
    private final class RigReference: Sendable {
        private let stored = Mutex<ServerRig?>(nil)
        var rig: ServerRig? {
            get { stored.withLock { $0 } }
            set { stored.withLock { $0 = newValue } }
        }
    }
}

/// A request that waits for its answer.
final class HeldRequest: Sendable {
    let request: WebRequest
    private let ends = AsyncStream<String>.makeStream()

    init(_ request: WebRequest) { self.request = request }

    func end(_ text: String) { ends.continuation.yield(text) }

    func answer() async -> WebResponse {
        request.whenClientIsGone { self.end("gone") }
        let text = await withTaskCancellationHandler {
            await ends.stream.first { _ in true } ?? "cancelled"
        } onCancel: {
            end("cancelled")
        }
        return WebResponse(status: .ok, body: text.utf8)
    }
}

/// The values that were added, in order. A test can wait for the next value.
final class ValueRecorder<Value: Sendable>: Sendable {
    private let stream = AsyncStream<Value>.makeStream()
    private let values = Mutex<[Value]>([])

    func add(_ value: Value) {
        values.withLock { $0.append(value) }
        stream.continuation.yield(value)
    }

    var all: [Value] { values.withLock { $0 } }

    /// The first value that `next` has not returned yet. Waits if there is no such value. Only one task may wait at a
    /// time.
    func next() async throws -> Value { try #require(await stream.stream.first { _ in true }) }
}

extension RawClient {
    func get(_ target: String, _ more: String = "") { send("GET \(target) HTTP/1.1\r\nhost: x\r\n\(more)\r\n") }
}
