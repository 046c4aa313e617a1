import HTTPTypes
import NIOCore

/// Where a ``WebServer`` listens, and how it treats clients.
package struct WebServerOptions: Sendable {
    package var host: String
    /// 0 means any free port.
    package var port: Int
    package var limits = WebServerLimits()
    /// Returns the maximum number of bytes in the body of a request to this path; nil means `limits.bodyBytesMax`. Must
    /// not block. A path with a greater maximum than `limits.bodyBytesMax` takes one request at a time; a second
    /// request is refused.
    package var bodyBytesMax: @Sendable (_ path: String) -> Int? = { _ in nil }
    /// Whether the answer to a request depends on its body. If not, the request is answered at once, and the responder
    /// gets no body. Must not block.
    package var needsBody: @Sendable (WebRequestHead) -> Bool = { _ in true }
    /// Nil for HTTP/1.1 without encryption.
    package var certificate: ServerCertificate?
    package var eventLoopThreads = 1
    /// Nil if requests get no ID.
    package var requestIDs: RequestIDs?
    /// Nil unless all clients connect through a proxy. Returns the client's address that the proxy has added to the
    /// headers of a request; nil if it has added none. Must not block.
    package var forwardedClient: (@Sendable (HTTPFields) -> String?)?
    /// Called on an event loop once for each request whose head was read, when the answer, the connection or the HTTP/2
    /// stream ends. Must not block.
    package var logRequest: (@Sendable (AccessLogEntry) -> Void)?
    /// Makes the answer to a request that the server refuses by itself. Receives no headers for `malformed` and
    /// `headTooLong`, and the headers of the request for all other refusals; and the request's ID, if it has one. The
    /// server adds `Retry-After`.
    package var refuse: @Sendable (WebServerRefusal, HTTPFields, _ id: String?) -> WebResponse = { refusal, _, _ in
        WebResponse(status: refusal.status)
    }

    /// The last address in `X-Forwarded-For`, which the proxy added. The client may have written the addresses before
    /// it.
    @Sendable package static func lastForwardedClient(_ headers: HTTPFields) -> String? {
        let forwarded = HTTPField.Name("x-forwarded-for").flatMap { headers[values: $0].last }
        let last = forwarded?.split(separator: ",", omittingEmptySubsequences: false).last?.filter { $0 != " " } ?? ""
        return last.isEmpty ? nil : last
    }

    func bodyBytesMax(toPath path: String) -> Int { bodyBytesMax(path) ?? limits.bodyBytesMax }

    package init(host: String, port: Int) { (self.host, self.port) = (host, port) }

    package init(_ address: ListenAddress) { self.init(host: address.host, port: address.port) }
}

/// The header that carries a request's ID. A value that a client sends is ignored.
package struct RequestIDs: Sendable {
    let header: HTTPField.Name
    let make: @Sendable () -> String

    package init(header: HTTPField.Name, make: @escaping @Sendable () -> String) {
        (self.header, self.make) = (header, make)
    }
}

package struct WebServerLimits: Sendable {
    /// How many connections may be open, of all clients. A further connection is closed at once. If this number is
    /// greater than the process's limit of open files minus 100, it is lowered to this difference, but not below 10.
    package var connectionsMax = 10_000
    /// Bytes of a path with its query; a longer one is answered 414.
    package var targetBytesMax = 8 << 10
    /// Bytes of an HTTP/1 request line with all headers; a longer head is answered 431. Does not apply to HTTP/2.
    package var headBytesMax = 80 << 10
    /// Bytes of a body; a longer one is answered 413.
    package var bodyBytesMax = 1 << 20
    /// Bytes of the bodies that the server holds at once: of requests that are arriving, and of requests that wait for
    /// their answer. A request whose body does not fit is answered 503. Must be at least four times the length of the
    /// longest body if ``limitsEachClient`` is true.
    package var heldBodyBytesMax = 64 << 20
    /// Bytes of the answers that the server holds at once, from when an answer is made until it is written to the
    /// connection or the client is disconnected. An answer that does not fit is replaced by 503. Answers of at most
    /// ``smallAnswerBytesMax`` bytes do not count. If the server holds no other answer, it sends an answer of any
    /// length.
    package var heldAnswerBytesMax = 256 << 20
    /// Whether one client may have at most a quarter of ``heldBodyBytesMax``, ``heldAnswerBytesMax`` and
    /// ``connectionsMax``. An answer may exceed the quarter if the server holds no other answer for the client. See
    /// ``ClientNetwork``. Behind a proxy (``WebServerOptions/forwardedClient``), connections have no such limit, and
    /// neither have requests to which the proxy has not added an address.
    package var limitsEachClient = true
    /// The time in which a whole request must arrive. It starts with the HTTP/1 connection or the HTTP/2 stream. For a
    /// later request of an HTTP/1 connection, it starts when the previous answer is written. After this time, the
    /// connection or the stream is closed.
    ///
    /// An HTTP/2 connection is also closed if it has no stream in this time. If it had streams before, it ends
    /// gracefully.
    package var requestWait = Duration.seconds(75)
    /// How long a client may take to receive an answer. After this time, the HTTP/1 connection or the HTTP/2 stream is
    /// closed.
    package var responseWait = Duration.seconds(30)
    /// How long the server reads and drops the rest of a request that it has refused. If it closed the connection at
    /// once, the client could lose the answer.
    package var drainWait = Duration.seconds(2)

    static let smallAnswerBytesMax = 64 << 10

    func connectionsMax(openFilesMax: Int) -> Int { min(connectionsMax, max(openFilesMax - 100, 10)) }

    package init() {}
}

/// Why the server refuses a request by itself.
package enum WebServerRefusal: Sendable, Hashable {
    /// The request breaks the rules of HTTP, or has a `Transfer-Encoding` other than `chunked`.
    case malformed
    case bodyTooLong
    /// The bodies that the server already holds, of all clients or of this client, leave no room for the body.
    case tooManyBodies
    /// The answers that the server already holds, of all clients or of this client, leave no room for the answer. The
    /// responder has answered the request, so the request may have had an effect.
    case tooManyAnswers
    /// The path has a greater maximum than other paths (see ``WebServerOptions/bodyBytesMax``), so it takes one request
    /// at a time. Another request already uses the path.
    case pathInUse
    case targetTooLong
    case headTooLong

    package var status: HTTPResponse.Status {
        switch self {
        case .malformed: .badRequest
        case .bodyTooLong: .contentTooLarge
        case .tooManyBodies, .tooManyAnswers, .pathInUse: .serviceUnavailable
        case .targetTooLong: .uriTooLong
        case .headTooLong: .requestHeaderFieldsTooLarge
        }
    }

    /// When the client may repeat the request, in seconds; nil if the same request would fail again.
    package var retryAfterSeconds: Int? { status == .serviceUnavailable ? 1 : nil }
}

/// A request in the access log, without its query, headers and body. If the request came over HTTP/2, "the connection"
/// means its stream here.
package struct AccessLogEntry: Sendable {
    package let requestID: String?
    /// The address of the client: see ``WebServerOptions/forwardedClient``.
    package let client: String?
    package let method: String
    /// The path, without the query.
    package let path: String
    /// Nil if the connection ended before the answer began.
    package let status: Int?
    /// How many bytes of the answer's body were passed to the connection. The client may have received fewer if the
    /// answer is incomplete.
    package let bodyBytes: Int
    /// The time from the request's head to the last written byte of the answer, or to the end of the connection.
    package let duration: Duration
    /// False if the connection ended before the whole answer was written.
    package let isComplete: Bool
    /// The members that the responder adds to the entry.
    package let notes: [Note]

    /// A member of the entry.
    package struct Note: Sendable {
        package let name: StaticString
        package let text: String

        package init(_ name: StaticString, _ text: String) { (self.name, self.text) = (name, text) }
    }
}
