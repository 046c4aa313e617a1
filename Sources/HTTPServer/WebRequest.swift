import HTTPTypes
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
    /// The client as the responder's limits count it. If clients connect through a proxy that has not added the
    /// client's address, this is the proxy.
    package let clientNetwork: ClientNetwork
    private let exchange: Exchange.Reference

    init(_ request: RequestInFlight, from peer: Peer, _ exchange: Exchange.Reference) {
        (head, path, query, body, id) = (request.head, request.path, request.query, request.body, request.id)
        client = request.client
        clientNetwork = request.network ?? peer.network ?? ClientNetwork("")
        self.exchange = exchange
    }

    package var method: HTTPRequest.Method { head.method }
    package var headers: HTTPFields { head.headerFields }
    package var eventLoop: any EventLoop { exchange.eventLoop }

    /// Calls back at most once, on an event loop, when the client disconnects, closes its sending side of an HTTP/1
    /// connection, or resets the HTTP/2 stream before the answer ends.
    package func whenClientIsGone(_ action: @escaping @Sendable () -> Void) {
        exchange.with { $0.whenClientIsGone(during: $1, action) }
    }

    /// Calls back once, on an event loop, when the whole answer is written to the connection, or when the connection or
    /// the HTTP/2 stream ends.
    package func whenAnswered(_ action: @escaping @Sendable () -> Void) {
        exchange.with { $0.whenAnswered(during: $1, action) }
    }

    /// Adds members to the request's entry in the access log. They replace the members of an earlier call.
    package func note(_ notes: [AccessLogEntry.Note]) { exchange.with { $0.note(notes, for: $1) } }
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
