import HTTPTypes
import HummingbirdCore

/// A request, from its head to the end of its answer.
struct RequestInFlight {
    let method: HTTPRequest.Method
    let id: String?
    /// Whether the client asks to close the connection after the answer.
    let isLast: Bool
    /// Whether the whole request has arrived.
    var isWhole = false
    /// The status of the answer; nil until the answer begins.
    var status: Int?
    var bodyBytesWritten = 0
    var whenAnswered: [@Sendable () -> Void] = []
    var notes: [AccessLogEntry.Note] = []
    private let target: String
    private let client: String?
    private let start = ContinuousClock.now

    init(_ head: HTTPRequest, id: String?, client: String?) {
        (method, self.id, self.client, target) = (head.method, id, client, head.path ?? "")
        isLast = head.headerFields[.connection] == "close"
    }

    func entry(isComplete: Bool) -> AccessLogEntry {
        AccessLogEntry(
            requestID: id, client: client, method: method.rawValue, path: URI(target).path, status: status,
            bodyBytes: bodyBytesWritten, duration: start.duration(to: .now), isComplete: isComplete, notes: notes)
    }
}
