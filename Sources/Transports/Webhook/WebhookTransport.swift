import Foundation
import JSON
import PipelineKit
import Synchronization
import Time

/// Posts each push unchanged to a URL, with its `apns-id` as `webhook-id`, and signs it if the settings have a secret
/// (Standard Webhooks).
///
/// - A push is accepted if the server answers 2xx.
/// - After the statuses 408, 425, 429 and 5xx, or without an answer, the push is deferred. The wait doubles with each
///   attempt. It is not shorter than the server's `Retry-After`; a `Retry-After` of more than an hour counts as an
///   hour. After the last attempt, the push fails. It also fails at once after every other status, including redirects.
/// - Unless the settings allow private networks, their addresses are refused, also those to which a host name resolves.
/// - The pushes of one device are sent one after the other. A push that is not answered soon is deferred. If its
///   request is in flight, the result of the request is reported later. A push that waits for its next attempt does not
///   delay other pushes.
/// - Pushes that are in flight when the transport is closed are deferred. They are sent again; the server recognises a
///   repeat by its `webhook-id`.
package final class WebhookTransport: ContinuousTransport {
    package typealias Settings = WebhookSettings

    package static let kind = "webhook"

    private let settings: WebhookSettings
    private let pause: @Sendable (Duration) async throws -> Void
    private let now: @Sendable () -> Instant
    private let jitter: @Sendable () -> Double
    private let work = Mutex<Work?>(nil)

    /// The state between ``open()`` and ``close()``.
    private struct Work: Sendable {
        let session: HTTPSession
        let sender: CurrentSender
        let queue: WebhookQueue
    }

    package convenience init(_ settings: WebhookSettings, context: TransportContext) throws(SettingsError) {
        self.init(settings, jitter: { .random(in: 0...1) }, pause: { try await Task.sleep(for: $0) })
    }

    /// - Parameters:
    ///   - now: The current time, for timestamps in requests and for waits.
    ///   - jitter: A random number from 0 to 1.
    ///   - pause: Waits for the duration, before pushes without an answer are deferred; throws if cancelled.
    init(
        _ settings: WebhookSettings, now: @escaping @Sendable () -> Instant = { .wall() },
        jitter: @escaping @Sendable () -> Double, pause: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.now = now
        self.jitter = jitter
        self.settings = settings
        self.pause = pause
    }

    package func open() async throws(TransportError) {
        let (target, signer) = (try WebhookTarget(settings), try WebhookSigner(settings.secrets))
        try checkTrust()
        let opened = try HTTPSession(connections: settings.concurrency, settings.rules)
        let sender = CurrentSender(
            WebhookSender(
                settings: settings, target: target, session: opened, signer: signer, now: now, jitter: jitter))
        let queue = WebhookQueue(
            concurrency: settings.concurrency, timeout: { sender.value.settings.timeout }, now: now, pause: pause,
            attempt: { await sender.value.send($0) })
        work.withLock { $0 = Work(session: opened, sender: sender, queue: queue) }
    }

    /// Reports an unusable `trust` file at the start, because otherwise every push would fail.
    private func checkTrust() throws(TransportError) {
        guard let trust = settings.rules.trust else { return }
        guard FileManager.default.contents(atPath: trust)?.firstRange(of: Data("-----BEGIN ".utf8)) != nil else {
            throw TransportError(
                "trust: \(trust) does not exist, cannot be read or contains no certificate in PEM",
                isOfConfiguration: true)
        }
    }

    /// Prepares a change of the URL, headers, secrets, `timeout`, `attempts` and `backoff`. Once the change is applied,
    /// each new attempt uses the new values, with the same connections. Returns nil, so that the transport is replaced,
    /// if `privateNetworks`, `concurrency` or the path in `trust` changed, or if the transport is not open.
    package func change(to settings: WebhookSettings) async throws(TransportError) -> TransportChange? {
        guard let sender = work.withLock({ $0?.sender }) else { return nil }
        let current = sender.value
        guard settings.rules == current.settings.rules, settings.concurrency == current.settings.concurrency else {
            return nil
        }
        let (target, signer) = (try WebhookTarget(settings), try WebhookSigner(settings.secrets))
        var descriptions = target.differences(from: current.target)
        if signer != current.signer { descriptions.append("signs with another secret") }
        return TransportChange(descriptions: descriptions) { sender.value = current.with(settings, target, signer) }
    }

    package func close() async {
        let closed = work.withLock { $0.take() }
        closed?.queue.close()
        closed?.session.close()
    }

    package func take(_ pushes: [Delivery], answered: @escaping @Sendable ([TransportAnswer]) -> Void) {
        guard let work = work.withLock({ $0 }) else {
            return answered(
                pushes.map { TransportAnswer($0.id, .failed, reason: "the transport is not open", attempts: 0) })
        }
        var refusals: [TransportAnswer] = []
        var readable: [WebhookPush] = []
        for push in pushes {
            if let push = WebhookPush(push) {
                readable.append(push)
            } else {
                let reason = "the push has no usable apns-id or no user"
                refusals.append(TransportAnswer(push.id, .failed, reason: reason, attempts: 0))
            }
        }
        if !refusals.isEmpty { answered(refusals) }
        if !readable.isEmpty { work.queue.add(readable, reportingTo: answered) }
    }

    /// The room for requests: `concurrency` less the requests in flight whose pushes were deferred, but at least 1.
    package func room(for app: Delivery.App?) -> TransportRoom {
        work.withLock { $0?.queue.room } ?? TransportRoom(channel: 0, pushesMax: settings.concurrency)
    }

    package var inFlightMax: Int { room(for: nil).pushesMax }
}
