import Foundation
import JSON
import PipelineKit
import Synchronization

/// Posts each push to a URL, as it stands, with its `apns-id` as `webhook-id`.
///
/// A push is accepted when the server answers 2xx. Statuses 408, 425, 429 and 5xx, and no answer at all, are tried
/// again, after a wait that doubles each time and is never shorter than the server's `Retry-After`; every other status is
/// final, redirects included. The pushes of one device go out one after the other, a push's retries before the next.
///
/// When the task that delivers is cancelled, pushes that have no final answer get none: they are to be sent again, and
/// the server knows a repeat by its `webhook-id`.
public final class WebhookTransport: Transport {
    public typealias Settings = WebhookSettings

    public static let kind = "webhook"

    private let settings: WebhookSettings
    private let policy: RetryPolicy
    private let pause: @Sendable (Duration) async throws -> Void
    private let session = Mutex<HTTPSession?>(nil)

    public convenience init(_ settings: WebhookSettings, context: TransportContext) throws(SettingsError) {
        self.init(settings) { try await Task.sleep(for: $0) }
    }

    /// - Parameter pause: Waits between attempts; throws when cancelled.
    init(_ settings: WebhookSettings, pause: @escaping @Sendable (Duration) async throws -> Void) {
        self.settings = settings
        self.pause = pause
        policy = RetryPolicy(attempts: settings.attempts, backoff: settings.backoff)
    }

    public func open() async throws(TransportError) {
        let opened = try HTTPSession(connections: settings.concurrency)
        session.withLock { $0 = opened }
    }

    public func close() async {
        let closed = session.withLock { $0.take() }
        closed?.close()
    }

    public func deliver(_ pushes: [Delivery]) async -> [TransportAnswer] {
        guard let session = session.withLock({ $0 }) else {
            return pushes.map { TransportAnswer($0.id, .failed, reason: "the transport is not open", attempts: 0) }
        }
        var answers: [TransportAnswer] = []
        var readable: [WebhookPush] = []
        for push in pushes {
            if let push = WebhookPush(push) {
                readable.append(push)
            } else {
                answers.append(TransportAnswer(push.id, .failed, reason: "not a push with an apns-id", attempts: 0))
            }
        }
        return answers + (await send(readable.lanes(), over: session))
    }

    private func send(_ lanes: [[WebhookPush]], over session: HTTPSession) async -> [TransportAnswer] {
        await withTaskGroup(of: [TransportAnswer].self) { group in
            for lane in lanes.prefix(settings.concurrency) { group.addTask { await self.send(lane, over: session) } }
            var rest = lanes.dropFirst(settings.concurrency)
            var answers: [TransportAnswer] = []
            while let some = await group.next() {
                answers += some
                if let lane = rest.popFirst() { group.addTask { await self.send(lane, over: session) } }
            }
            return answers
        }
    }

    private func send(_ lane: [WebhookPush], over session: HTTPSession) async -> [TransportAnswer] {
        var answers: [TransportAnswer] = []
        for push in lane {
            guard let answer = await send(push, over: session) else { break }
            answers.append(answer)
        }
        return answers
    }

    /// Nil when cancelled.
    private func send(_ push: WebhookPush, over session: HTTPSession) async -> TransportAnswer? {
        let request = request(for: push)
        var attempt = 0
        while !Task.isCancelled {
            attempt += 1
            let result = await attemptToSend(request, over: session)
            if case .failure(.cancelled) = result { return nil }
            let delay = policy.delay(
                afterAttempt: attempt, retryAfter: result.retryAfter, jitter: .random(in: 0...1))
            guard result.isRetriable, let delay else {
                return result.answer(to: push.delivery.id, attempts: attempt, timeout: settings.timeout)
            }
            do { try await pause(delay) } catch { return nil }
        }
        return nil
    }

    private func attemptToSend(
        _ request: HTTPRequest, over session: HTTPSession
    ) async -> Result<HTTPAnswer, HTTPFailure> {
        do throws(HTTPFailure) {
            return .success(try await session.post(request))
        } catch {
            return .failure(error)
        }
    }

    private func request(for push: WebhookPush) -> HTTPRequest {
        let own = [(name: "content-type", value: "application/json"), (name: "webhook-id", value: push.apnsID)]
        return HTTPRequest(
            url: settings.url, headers: own + settings.headers, body: push.delivery.line, timeout: settings.timeout)
    }
}
