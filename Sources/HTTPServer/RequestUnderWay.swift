import HTTPTypes
import HummingbirdCore
import NIOCore

/// What is known of a request until its answer has ended.
struct RequestUnderWay {
    let method: HTTPRequest.Method
    let id: String?
    /// Whether its client wants no further one on this connection.
    let isLast: Bool
    /// Whether it has come to its end.
    var isWhole = false
    /// The answer's; nil until it begins.
    var status: Int?
    /// Of the answer's body.
    var bytes = 0
    var whenAnswered: [@Sendable () -> Void] = []
    private let target: String
    private let client: SocketAddress?
    private let start = ContinuousClock.now

    init(_ head: HTTPRequest, id: String?, client: SocketAddress?) {
        (method, self.id, self.client, target) = (head.method, id, client, head.path ?? "")
        isLast = head.headerFields[.connection] == "close"
    }

    func entry(isComplete: Bool) -> AccessLogEntry {
        AccessLogEntry(
            requestID: id, client: client?.ipAddress, method: method.rawValue, path: URI(target).path, status: status,
            bytes: bytes,
            duration: start.duration(to: .now), isComplete: isComplete)
    }
}
