import CCurl
import Foundation
import PipelineKit
import Synchronization

/// One POST.
struct HTTPRequest: Sendable {
    var url: URL
    var headers: [(name: String, value: String)]
    var body: [UInt8]
    /// From the start to the end of the answer.
    var timeout: Duration
}

/// What a server said.
struct HTTPAnswer: Sendable, Hashable {
    var status: Int
    var retryAfter: String?
    /// The first ``HTTPTransfer/bodyBytesMax`` bytes.
    var body: [UInt8] = []
}

/// Why there is no answer.
enum HTTPFailure: Error, Hashable {
    /// - Parameter wasSent: Whether the server may have taken the request.
    case timedOut(wasSent: Bool)
    case unreachable(String, wasSent: Bool = false)
    /// The host's addresses are all in networks that are not to be reached; one of them.
    case refused(IPAddress)
    /// The task that asked was cancelled.
    case cancelled
}

/// What holds for every request of a session.
struct HTTPRules: Sendable, Hashable {
    /// Otherwise no connection leads there, whatever a name resolves to. With them come the proxies that the
    /// environment names: where one of those leads cannot be seen.
    var allowsPrivateNetworks = false
    /// A PEM file with the certificates to trust instead of the system's.
    var trust: String?
}

/// Connections to servers, kept for the next request. Redirects are not followed, nothing is cached or remembered.
///
/// One thread drives all requests with libcurl. `URLSession` would use most of a core while it waits for an answer:
/// it arms its sockets for writing again and again, whatever the form of the request.
final class HTTPSession: Sendable {
    private let inbox: HTTPInbox
    private let requests = Atomic<UInt64>(0)

    /// - Parameter connections: How many requests may be under way; others wait, and their time does not yet run.
    init(connections: Int, _ rules: HTTPRules = HTTPRules()) throws(TransportError) {
        guard let inbox = HTTPInbox() else { throw TransportError("the system has no file descriptor left") }
        self.inbox = inbox
        Thread.detachNewThread {
            // Foundation's own name is lost when the thread runs before its maker knows it.
            pthread_setname_np(pthread_self(), "webhook")
            HTTPTransfers(connections: connections, rules)?.run(inbox) ?? inbox.close()
        }
    }

    deinit { inbox.close() }

    /// Returns when the answer is complete or its time is over; what was said until then counts.
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

    /// Ends what is under way as cancelled.
    func close() { inbox.close() }
}
