import HTTPTypes
import HummingbirdCore
import NIOCore

/// A request that has arrived with its whole body, or whose body the responder does not need.
package struct WebRequest: Sendable {
    package let head: HTTPRequest
    /// The path as the client sent it, still percent-encoded.
    package let path: String
    /// The query as the client sent it, without the question mark. Nil if the target has no query.
    package let query: String?
    /// Empty if ``WebServerOptions/needsBody`` is false for the request.
    package let body: [UInt8]
    /// The ID that the server gave the request; nil if requests get no ID.
    package let id: String?
    /// The address of the client: see ``WebServerOptions/forwardedClient``.
    package let client: String?
    private let channel: any Channel

    init(_ request: Request, body: [UInt8], id: String?, client: String?, _ channel: any Channel) {
        head = request.head
        (path, query) = (request.uri.path, request.uri.query)
        (self.body, self.id) = (body, id)
        (self.client, self.channel) = (client, channel)
    }

    package var method: HTTPRequest.Method { head.method }
    package var headers: HTTPFields { head.headerFields }
    package var eventLoop: any EventLoop { channel.eventLoop }

    /// Calls back at most once, on an event loop, when the client disconnects or closes its sending side before the
    /// answer ends.
    package func whenClientIsGone(_ action: @escaping @Sendable () -> Void) {
        withExchange { exchange in
            if let exchange { exchange.whenClientIsGone(action) } else { action() }
        }
    }

    /// Calls back once, on an event loop, when the whole answer is written to the connection, or the client is
    /// disconnected.
    package func whenAnswered(_ action: @escaping @Sendable () -> Void) {
        withExchange { exchange in
            if let exchange { exchange.whenAnswered(action) } else { action() }
        }
    }

    /// Adds members to the request's entry in the access log. They replace the members of an earlier call.
    package func note(_ notes: [AccessLogEntry.Note]) { withExchange { $0?.note(notes) } }

    /// - Parameter body: Receives nil if the connection has ended.
    private func withExchange(_ body: @escaping @Sendable (Exchange?) -> Void) {
        let find: @Sendable () -> Void = { [channel] in
            let exchange: Exchange?
            do { exchange = try channel.pipeline.syncOperations.handler(type: Exchange.self) } catch { exchange = nil }
            body(exchange)
        }
        if eventLoop.inEventLoop { find() } else { eventLoop.execute(find) }
    }
}

/// An answer with its whole body.
package struct WebResponse: Sendable {
    package var status: HTTPResponse.Status
    package var headers: HTTPFields
    let body: ByteBuffer

    package init(status: HTTPResponse.Status, headers: HTTPFields = [:], body: some Sequence<UInt8> = []) {
        self.status = status
        self.headers = headers
        self.body = ByteBuffer(bytes: body)
        if status != .noContent { self.headers[.contentLength] = "\(self.body.readableBytes)" }
    }

    var head: HTTPResponse { HTTPResponse(status: status, headerFields: headers) }
}
