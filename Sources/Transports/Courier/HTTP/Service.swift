import HTTPServer
import HTTPTypes
import JSON
import NIOCore
import Synchronization

/// Answers the courier's HTTP requests.
struct Service: Sendable {
    let storeQueue: CourierStoreQueue
    let pollTimeout: Duration
    let origins: AllowedOrigins
    let pages = PagesInFlight()

    func answer(_ request: WebRequest) async -> WebResponse {
        var answer: WebResponse
        do throws(Route.Refusal) { answer = await self.answer(try Route(request), to: request) } catch {
            answer = .refusal(error.status, error.code, error.reason)
        }
        complete(&answer, to: request.headers, isPreflight: request.method == .options)
        return answer
    }

    private static let permissions = AllowedOrigins.Permissions(methods: "GET, POST", headers: "content-type")

    /// Adds `cache-control`, and the CORS headers if the origin of the request is allowed.
    ///
    /// - Parameter request: The request's headers.
    func complete(_ answer: inout WebResponse, to request: HTTPFields, isPreflight: Bool = false) {
        answer.headers[.cacheControl] = "no-store"
        origins.addHeaders(to: &answer.headers, of: request, Self.permissions, isPreflight: isPreflight)
    }

    private func answer(_ route: Route, to request: WebRequest) async -> WebResponse {
        do {
            switch route {
            case .poll(let token): return try await poll(token, for: request)
            case .fetch(let token, let since, let limit):
                guard pages.add(for: request) else {
                    return .unavailable("\(CourierLimits.pagesMax) pages are being read or sent: try again later")
                }
                return try await fetch(token, since: since, limit: limit)
            case .markRead(let token, let ids): return try await markRead(ids, token)
            case .preflight: return WebResponse(status: .noContent)
            }
        } catch { return .unavailable("\(error)") }
    }

    // MARK: Polls

    /// Retries a poll with an unknown token for a short time, because a new device may poll before its registration has
    /// reached the courier.
    private func poll(_ token: CourierToken, for request: WebRequest) async throws -> WebResponse {
        var timeLeft = CourierLimits.registrationWait
        while true {
            let answer = try await answer(to: Poll(token, on: request.eventLoop), for: request)
            guard case .unknownToken = answer, timeLeft > .zero else { return WebResponse(answer) }
            try await Task.sleep(for: CourierLimits.registrationPause)
            timeLeft -= CourierLimits.registrationPause
        }
    }

    /// Begins a poll and waits for its answer. The timeout or a client that disconnects ends the poll.
    private func answer(to poll: Poll, for request: WebRequest) async throws -> Poll.Answer {
        let end = { @Sendable [storeQueue] in storeQueue.tell { courierStore, _ in courierStore.end(poll) } }
        storeQueue.tell({ $0.begin(poll, now: $1) }, orElse: { poll.end(.failed("the courier is closed")) })
        let timeout = request.eventLoop.scheduleTask(in: TimeAmount(pollTimeout), end)
        defer { timeout.cancel() }
        request.whenClientIsGone(end)
        return try await poll.answer.get()
    }

    // MARK: Inboxes

    /// - Parameter isRetry: Whether the store was just rebuilt because it was damaged.
    private func fetch(
        _ token: CourierToken, since: ChangeToken?, limit: Int, isRetry: Bool = false
    ) async throws -> WebResponse {
        guard let inbox = try await storeQueue.ask({ try $0.inbox(of: token, now: $1) }) else { return .closed }
        guard let inbox else { return .unknownToken }
        if let since, !since.isWithin(inbox.end) { return .expired(isOfThisLog: since.log == inbox.end.log) }
        do {
            return .json(
                try await storeQueue.read {
                    try inbox.pages.read { db in
                        try InboxPage.json(
                            db, account: inbox.account, since: since, log: inbox.end.log, entriesMax: limit)
                    }
                })
        } catch let error where error.isDamage && !isRetry {
            _ = try await storeQueue.ask { try $0.replaceStore(of: inbox.pages, $1) }
            return try await fetch(token, since: since, limit: limit, isRetry: true)
        }
    }

    private func markRead(_ ids: [String], _ token: CourierToken) async throws -> WebResponse {
        guard let result = try await storeQueue.ask({ try $0.markRead(ids, token: token, now: $1) }) else {
            return .closed
        }
        guard let unknown = result else { return .unknownToken }
        let read = ids.filter { !unknown.contains($0) }
        let json = ByteBuffer.object {
            $0.append("notificationIDs", read)
            $0.append("unknown", unknown)
        }
        return .json(json.bytes)
    }
}

extension WebResponse {
    // CloudKit: CKError.changeTokenExpired, after which a client fetches all notifications again.
    fileprivate static func expired(isOfThisLog: Bool) -> WebResponse {
        let cause = isOfThisLog ? "is newer than the newest token of this log" : "belongs to another log"
        return refusal(.gone, "token.expired", "the change token \(cause): fetch without since")
    }
}

/// Counts the pages that are being read or sent to clients, because these pages use memory.
final class PagesInFlight: Sendable {
    private let count = Mutex(0)

    /// - Returns: False if the maximum number of pages is already being read or sent.
    func add(for request: WebRequest) -> Bool {
        let isRoom = count.withLock { count in
            guard count < CourierLimits.pagesMax else { return false }
            count += 1
            return true
        }
        if isRoom { request.whenAnswered { self.count.withLock { $0 -= 1 } } }
        return isRoom
    }
}
