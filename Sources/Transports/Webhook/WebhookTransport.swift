import Foundation
import JSON
import PipelineKit
import Synchronization
import Time

/// Posts each push to a URL, as it stands, with its `apns-id` as `webhook-id`, and signs it where there is a secret
/// (Standard Webhooks).
///
/// A push is accepted when the server answers 2xx. After statuses 408, 425, 429 and 5xx, and no answer at all, it is
/// deferred, for a time that doubles with each attempt and is never shorter than the server's `Retry-After`; every other
/// status is final, redirects included. Addresses in private networks are refused, also where a name leads there, unless
/// the settings allow them. The pushes of one device go out one after the other; one that is not answered soon is deferred
/// too, and its last answer follows when it comes. A push that is to be tried again holds up none.
///
/// Pushes that are under way when the transport is closed are deferred: they are to be sent again, and the server knows a
/// repeat by its `webhook-id`.
package final class WebhookTransport: ContinuousTransport {
    package typealias Settings = WebhookSettings

    package static let kind = "webhook"

    private let settings: WebhookSettings
    private let pause: @Sendable (Duration) async throws -> Void
    private let now: @Sendable () -> Instant
    private let jitter: @Sendable () -> Double
    private let line = Mutex<Line?>(nil)

    /// What is there between ``open()`` and ``close()``.
    private struct Line: Sendable {
        let session: HTTPSession
        let sender: PresentSender
        let requests: WebhookLine
    }

    package convenience init(_ settings: WebhookSettings, context: TransportContext) throws(SettingsError) {
        self.init(settings, jitter: { .random(in: 0...1) }, pause: { try await Task.sleep(for: $0) })
    }

    /// - Parameters:
    ///   - now: The time that requests are stamped with, and that waits begin at.
    ///   - jitter: From 0 to 1.
    ///   - pause: Waits for as long as a push waits for its first answer; throws when cancelled.
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
        let sender = PresentSender(
            WebhookSender(
                settings: settings, target: target, session: opened, signer: signer, now: now, jitter: jitter))
        let requests = WebhookLine(
            concurrency: settings.concurrency, timeout: { sender.value.settings.timeout }, now: now, pause: pause,
            attempt: { await sender.value.send($0) })
        line.withLock { $0 = Line(session: opened, sender: sender, requests: requests) }
    }

    /// Not each push should say what one look tells.
    private func checkTrust() throws(TransportError) {
        guard let trust = settings.rules.trust else { return }
        guard FileManager.default.contents(atPath: trust)?.firstRange(of: Data("-----BEGIN ".utf8)) != nil else {
            throw TransportError(
                "\(trust), which is to be trusted, cannot be read or holds no certificate in PEM",
                isOfConfiguration: true)
        }
    }

    /// Another URL, other headers, secrets and times count from the next attempt on. Connections are kept, unless other
    /// ones are to be trusted or allowed, or another number of them.
    package func change(to settings: WebhookSettings) async throws(TransportError) -> TransportChange? {
        guard let sender = line.withLock({ $0?.sender }) else { return nil }
        let present = sender.value
        guard settings.rules == present.settings.rules, settings.concurrency == present.settings.concurrency else {
            return nil
        }
        let (target, signer) = (try WebhookTarget(settings), try WebhookSigner(settings.secrets))
        var said = target.differences(from: present.target)
        if signer != present.signer { said.append("signed with another secret") }
        return TransportChange(said: said) { sender.value = present.with(settings, target, signer) }
    }

    package func close() async {
        let closed = line.withLock { $0.take() }
        closed?.requests.close()
        closed?.session.close()
    }

    package func take(_ pushes: [Delivery], answered: @escaping @Sendable ([TransportAnswer]) -> Void) {
        guard let line = line.withLock({ $0 }) else {
            return answered(
                pushes.map { TransportAnswer($0.id, .failed, reason: "the transport is not open", attempts: 0) })
        }
        var refusals: [TransportAnswer] = []
        var readable: [WebhookPush] = []
        for push in pushes {
            if let push = WebhookPush(push) {
                readable.append(push)
            } else {
                refusals.append(TransportAnswer(push.id, .failed, reason: "not a push with an apns-id", attempts: 0))
            }
        }
        if !refusals.isEmpty { answered(refusals) }
        if !readable.isEmpty { line.requests.take(readable, answered) }
    }

    /// As many requests as may be under way, less those that take longer.
    package func room(for app: Delivery.App?) -> TransportRoom {
        line.withLock { $0?.requests.room } ?? TransportRoom(channel: 0, pushesMax: settings.concurrency)
    }

    package var inFlightMax: Int { room(for: nil).pushesMax }
}
