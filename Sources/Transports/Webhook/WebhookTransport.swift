import EventLog
import Foundation
import JSON
import PipelineKit
import Synchronization

/// Posts each push to a URL, as it stands, with its `apns-id` as `webhook-id`, and signs it where there is a secret
/// (Standard Webhooks).
///
/// A push is accepted when the server answers 2xx. Statuses 408, 425, 429 and 5xx, and no answer at all, are tried
/// again, after a wait that doubles each time and is never shorter than the server's `Retry-After`; every other status is
/// final, redirects included. Addresses in private networks are refused, also where a name leads there, unless the settings allow
/// them. The pushes of one device go out one after the other, a push's retries before the next.
///
/// When the task that delivers is cancelled, pushes that have no final answer get none: they are to be sent again, and
/// the server knows a repeat by its `webhook-id`.
public final class WebhookTransport: Transport {
    public typealias Settings = WebhookSettings

    public static let kind = "webhook"

    private let settings: WebhookSettings
    private let policy: RetryPolicy
    private let pause: @Sendable (Duration) async throws -> Void
    private let now: @Sendable () -> Instant
    private let line = Mutex<Line?>(nil)

    /// What is there between ``open()`` and ``close()``.
    private struct Line: Sendable {
        let session: HTTPSession
        let signer: WebhookSigner
    }

    public convenience init(_ settings: WebhookSettings, context: TransportContext) throws(SettingsError) {
        self.init(settings) { try await Task.sleep(for: $0) }
    }

    /// - Parameters:
    ///   - now: The time that requests are stamped with.
    ///   - pause: Waits between attempts; throws when cancelled.
    init(
        _ settings: WebhookSettings, now: @escaping @Sendable () -> Instant = { .wall() },
        pause: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.now = now
        self.settings = settings
        self.pause = pause
        policy = RetryPolicy(attempts: settings.attempts, backoff: settings.backoff)
    }

    public func open() async throws(TransportError) {
        let signer = try WebhookSigner(settings.secrets)
        try checkTrust()
        let opened = try HTTPSession(connections: settings.concurrency, settings.rules)
        line.withLock { $0 = Line(session: opened, signer: signer) }
    }

    /// Not each push should say what one look tells.
    private func checkTrust() throws(TransportError) {
        guard let trust = settings.rules.trust else { return }
        guard FileManager.default.contents(atPath: trust)?.firstRange(of: Data("-----BEGIN ".utf8)) != nil else {
            throw TransportError("\(trust), which is to be trusted, cannot be read or holds no certificate in PEM")
        }
    }

    public func close() async {
        let closed = line.withLock { $0.take() }
        closed?.session.close()
    }

    public func deliver(_ pushes: [Delivery]) async -> [TransportAnswer] {
        guard let line = line.withLock({ $0 }) else {
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
        return answers + (await send(readable.lanes(), over: line))
    }

    private func send(_ lanes: [[WebhookPush]], over line: Line) async -> [TransportAnswer] {
        await withTaskGroup(of: [TransportAnswer].self) { group in
            for lane in lanes.prefix(settings.concurrency) { group.addTask { await self.send(lane, over: line) } }
            var rest = lanes.dropFirst(settings.concurrency)
            var answers: [TransportAnswer] = []
            while let some = await group.next() {
                answers += some
                if let lane = rest.popFirst() { group.addTask { await self.send(lane, over: line) } }
            }
            return answers
        }
    }

    private func send(_ lane: [WebhookPush], over line: Line) async -> [TransportAnswer] {
        var answers: [TransportAnswer] = []
        for push in lane {
            guard let answer = await send(push, over: line) else { break }
            answers.append(answer)
        }
        return answers
    }

    /// Nil when cancelled.
    private func send(_ push: WebhookPush, over line: Line) async -> TransportAnswer? {
        let body = push.delivery.line
        var (attempt, mayRepeat) = (0, false)
        while !Task.isCancelled {
            attempt += 1
            let result = await attemptToSend(request(push, body, line.signer), over: line)
            if case .failure(.cancelled) = result { return nil }
            let delay = policy.delay(
                afterAttempt: attempt, retryAfter: result.retryAfter, jitter: .random(in: 0...1))
            guard result.isRetriable, let delay else {
                return result.answer(
                    to: push.delivery.id, attempts: attempt, timeout: settings.timeout, mayRepeat: mayRepeat)
            }
            if result.isUnanswered { mayRepeat = true }
            do { try await pause(delay) } catch { return nil }
        }
        return nil
    }

    private func attemptToSend(
        _ request: HTTPRequest, over line: Line
    ) async -> Result<HTTPAnswer, HTTPFailure> {
        do throws(HTTPFailure) {
            return .success(try await line.session.post(request))
        } catch {
            return .failure(error)
        }
    }

    /// A new attempt has a time of its own (Standard Webhooks 1.0.0, "Webhook metadata").
    private func request(_ push: WebhookPush, _ body: [UInt8], _ signer: WebhookSigner) -> HTTPRequest {
        let timestamp = now().microseconds / 1_000_000
        var headers = [
            (name: "content-type", value: "application/json"), (name: "webhook-id", value: push.apnsID),
            (name: "webhook-timestamp", value: "\(timestamp)"),
        ]
        if let signatures = signer.signatures(id: push.apnsID, timestamp: timestamp, body: body) {
            headers.append((name: "webhook-signature", value: signatures))
        }
        return HTTPRequest(
            url: settings.url, headers: headers + settings.headers, body: body, timeout: settings.timeout)
    }
}
