import Foundation
import PipelineKit
import Synchronization
import Time

/// Sends the request of a push, and decides from its result what happens to the push.
struct WebhookSender: Sendable {
    let settings: WebhookSettings
    let target: WebhookTarget
    let session: HTTPSession
    let signer: WebhookSigner
    let now: @Sendable () -> Instant
    /// A random number from 0 to 1.
    let jitter: @Sendable () -> Double

    private var policy: RetryPolicy { RetryPolicy(attempts: settings.attempts, backoff: settings.backoff) }

    /// Sends the push once. Returns nil if the request was cancelled.
    func send(_ push: WebhookPush) async -> TransportAnswer? {
        let result = await attempt(request(push, push.delivery.line))
        if case .failure(.cancelled) = result { return nil }
        let delay = policy.delay(
            afterAttempt: push.delivery.attempts + 1, retryAfter: result.retryAfter(now()), jitter: jitter())
        guard result.isRetriable, let delay else {
            return result.answer(to: push.delivery.id, timeout: settings.timeout)
        }
        return result.deferral(of: push.delivery.id, until: now().advanced(by: delay), timeout: settings.timeout)
    }

    /// A sender with other settings that uses the same connections.
    func with(_ settings: WebhookSettings, _ target: WebhookTarget, _ signer: WebhookSigner) -> WebhookSender {
        WebhookSender(
            settings: settings, target: target, session: session, signer: signer, now: now, jitter: jitter)
    }

    private func attempt(_ request: HTTPRequest) async -> Result<HTTPAnswer, HTTPFailure> {
        do throws(HTTPFailure) {
            return .success(try await session.post(request))
        } catch {
            return .failure(error)
        }
    }

    /// Makes the request of an attempt. Each attempt has a timestamp of its own (Standard Webhooks 1.0.0, "Webhook
    /// metadata").
    private func request(_ push: WebhookPush, _ body: [UInt8]) -> HTTPRequest {
        let timestamp = now().microseconds / 1_000_000
        var headers = [
            (name: "content-type", value: "application/json"), (name: "webhook-id", value: push.apnsID),
            (name: "webhook-timestamp", value: "\(timestamp)"),
        ]
        if let signatures = signer.signatures(id: push.apnsID, timestamp: timestamp, body: body) {
            headers.append((name: "webhook-signature", value: signatures))
        }
        return HTTPRequest(
            url: target.url, headers: headers + target.headers, body: body, timeout: settings.timeout)
    }
}

/// The sender with the newest settings, which each attempt looks up.
final class CurrentSender: Sendable {
    private let sender: Mutex<WebhookSender>

    init(_ sender: WebhookSender) { self.sender = Mutex(sender) }

    var value: WebhookSender {
        get { sender.withLock { $0 } }
        set { sender.withLock { $0 = newValue } }
    }
}
