import Foundation
import FoundationNetworking
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
    /// The first ``HTTPSession/bodyBytesMax`` bytes.
    var body: [UInt8] = []
}

/// Why there is no answer.
enum HTTPFailure: Error, Hashable {
    case timedOut
    case unreachable(String)
    /// The task that asked was cancelled.
    case cancelled
}

/// Connections to servers. The only code that knows `URLSession`.
///
/// Redirects, cookies, credentials and caches are switched off. The session's own completion handlers follow redirects
/// whatever one asks for, and never end after a 401; so this is its delegate, and takes an answer as soon as it is there.
final class HTTPSession: NSObject, URLSessionDataDelegate, Sendable {
    /// More of an answer is not read.
    static let bodyBytesMax = 64 << 10

    private struct Exchange {
        var answer: HTTPAnswer?
        let end: CheckedContinuation<Result<HTTPAnswer, HTTPFailure>, Never>
    }

    private let exchanges = Mutex<[Int: Exchange]>([:])
    private let session = Mutex<URLSession?>(nil)

    init(connections: Int) {
        super.init()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = connections
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.urlCredentialStorage = nil
        configuration.urlCache = nil
        session.withLock { $0 = URLSession(configuration: configuration, delegate: self, delegateQueue: nil) }
    }

    /// Returns when the answer is complete or its time is over; what was said until then counts.
    func post(_ request: HTTPRequest) async throws(HTTPFailure) -> HTTPAnswer {
        guard let task = session.withLock({ $0?.dataTask(with: URLRequest(request)) }) else { throw .cancelled }
        async let _ = expire(task, after: request.timeout)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                begin(task, continuation)
            }
        } onCancel: {
            end(task, .cancelled)
        }
        return try result.get()
    }

    func close() {
        session.withLock { session in
            session?.invalidateAndCancel()
            session = nil
        }
    }

    private func begin(
        _ task: URLSessionDataTask, _ continuation: CheckedContinuation<Result<HTTPAnswer, HTTPFailure>, Never>
    ) {
        exchanges.withLock { $0[task.taskIdentifier] = Exchange(end: continuation) }
        task.resume()
        if Task.isCancelled { end(task, .cancelled) }
    }

    private func expire(_ task: URLSessionDataTask, after timeout: Duration) async {
        do { try await Task.sleep(for: timeout) } catch { return }
        end(task, .timedOut)
    }

    /// Only the first end counts.
    private func end(_ task: URLSessionTask, _ failure: HTTPFailure) {
        guard let exchange = exchanges.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else { return }
        task.cancel()
        exchange.end.resume(returning: exchange.answer.map(Result.success) ?? .failure(failure))
    }

    // MARK: URLSessionDataDelegate

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        exchanges.withLock { $0[dataTask.taskIdentifier]?.answer = HTTPAnswer(response) }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let isFull = exchanges.withLock { exchanges in
            let room = Self.bodyBytesMax - (exchanges[dataTask.taskIdentifier]?.answer?.body.count ?? 0)
            exchanges[dataTask.taskIdentifier]?.answer?.body += data.prefix(room)
            return data.count >= room
        }
        if isFull { end(dataTask, .unreachable("the answer has no status")) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        end(task, HTTPFailure(error))
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        if let response = challenge.failureResponse {
            exchanges.withLock { $0[task.taskIdentifier]?.answer = HTTPAnswer(response) }
        }
        completionHandler(.cancelAuthenticationChallenge, nil)
        end(task, .unreachable("the server asks for credentials"))
    }
}

extension HTTPAnswer {
    fileprivate init?(_ response: URLResponse) {
        guard let response = response as? HTTPURLResponse else { return nil }
        self.init(status: response.statusCode, retryAfter: response.value(forHTTPHeaderField: "retry-after"))
    }
}

extension HTTPFailure {
    fileprivate init(_ error: (any Error)?) {
        switch (error as? URLError)?.code {
        case .timedOut: self = .timedOut
        default: self = .unreachable(error?.localizedDescription ?? "the answer has no status")
        }
    }
}

extension URLRequest {
    fileprivate init(_ request: HTTPRequest) {
        self.init(url: request.url)
        httpMethod = "POST"
        httpBody = Data(request.body)
        httpShouldHandleCookies = false
        // The session counts silence only, in whole seconds; ``HTTPSession/post(_:)`` limits the whole and is first.
        timeoutInterval = (request.timeout / .seconds(1)).rounded(.up) + 1
        for (name, value) in request.headers { setValue(value, forHTTPHeaderField: name) }
    }
}
