import CCurl
import Foundation
import PipelineKit
import Synchronization

/// A POST request.
struct HTTPRequest: Sendable {
    var url: URL
    var headers: [(name: String, value: String)]
    var body: [UInt8]
    /// How long the request may take, from its start to the end of the answer.
    var timeout: Duration
}

/// A server's answer.
struct HTTPAnswer: Sendable, Hashable {
    var status: Int
    var retryAfter: String?
    /// The first ``HTTPTransfer/bodyBytesMax`` bytes.
    var body: [UInt8] = []
}

/// Why there is no answer.
enum HTTPFailure: Error, Hashable {
    /// - Parameter wasSent: Whether a part of the request was sent. The server may then have got the whole request.
    case timedOut(wasSent: Bool)
    /// There was no connection, or it ended before the head of the answer was complete. The text is the reason;
    /// `wasSent` is as above.
    case unreachable(String, wasSent: Bool = false)
    /// The rules refuse the host, because all its addresses are in private networks. The value is the address that was
    /// refused last.
    case refused(IPAddress)
    /// The task that waits for the answer was cancelled, the session was closed, or libcurl could not start.
    case cancelled
}

/// Rules for every request of a session.
struct HTTPRules: Sendable, Hashable {
    /// Whether connections to private networks are allowed. Only then are the proxies in the environment's variables
    /// used, because a proxy can connect to a private network unnoticed.
    var allowsPrivateNetworks = false
    /// A PEM file with the certificates to trust instead of the system's.
    var trust: String?
}

/// Connections to servers, which are kept for further requests. Redirects are not followed; there are no cookies and no
/// cache.
///
/// One thread drives all requests with libcurl. `URLSession` would use most of a core while it waits for an answer,
/// because it polls its sockets for writing again and again.
final class HTTPSession: Sendable {
    private let inbox: HTTPInbox
    private let requests = Atomic<UInt64>(0)

    /// - Parameter connections: How many requests may be in flight. Further requests wait, and their timeouts start
    ///   later.
    init(connections: Int, _ rules: HTTPRules = HTTPRules()) throws(TransportError) {
        guard let inbox = HTTPInbox() else {
            throw TransportError("no file descriptor is left for the webhook: raise the limit (ulimit -n)")
        }
        self.inbox = inbox
        Thread.detachNewThread {
            // Foundation loses a name that is set with `Thread.name` if the thread runs too early.
            pthread_setname_np(pthread_self(), "webhook")
            HTTPTransfers(connections: connections, rules)?.run(inbox) ?? inbox.refuseAll()
        }
    }

    deinit { inbox.close() }

    /// Sends a request. Returns when the answer is complete. Once the head of the answer has come, a timeout or the end
    /// of the connection is no error: the method returns the part of the answer that has come.
    func post(_ request: HTTPRequest) async throws(HTTPFailure) -> HTTPAnswer {
        let id = requests.wrappingAdd(1, ordering: .relaxed).newValue
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isTaken = inbox.add(HTTPOrder(id: id, request: request, end: continuation))
                if !isTaken { continuation.resume(returning: .failure(.cancelled)) }
                if Task.isCancelled { inbox.withdraw(id) }
            }
        } onCancel: {
            inbox.withdraw(id)
        }
        return try result.get()
    }

    /// Ends all requests as cancelled.
    func close() { inbox.close() }
}
