import PipelineKit
import Synchronization
import TestSupport
import Time

@testable import TransportWebhook

/// A transport that posts to a test's server. Until ``endAnswerWaits()`` is called, a delivery waits until each push
/// has its answer or has reached its timeout.
struct Rig {
    let transport: WebhookTransport
    let clock: TestClock
    private let answerWait: AnswerWait

    init(_ server: TestServer, _ settings: String = "attempts: 3\nbackoff: 100ms") async throws {
        try await self.init(url: server.url, settings)
    }

    init(url: String, _ settings: String) async throws {
        self.init(try webhookSettings("url: \(url)\nprivateNetworks: allow\n\(settings)"))
        try await transport.open()
    }

    init(_ settings: WebhookSettings, now: Instant = Instant(microseconds: 1_795_000_000_999_999)) {
        let (clock, answerWait) = (TestClock(now), AnswerWait())
        (self.clock, self.answerWait) = (clock, answerWait)
        transport = WebhookTransport(
            settings, now: { clock.now }, jitter: { 1 }, pause: { _ in try await answerWait.wait() })
    }

    /// Defers all pushes that wait for an answer. A push that is passed after this call does not wait: it is deferred
    /// at once, unless it was passed before and its answer has come since.
    func endAnswerWaits() { answerWait.end() }

    /// Passes a push to the transport again and again, until the answer is not a deferral or the task is cancelled.
    func deliverUntilFinal(_ push: Delivery) async -> TransportAnswer {
        while true {
            let answer = await deliver(push)[0]
            guard answer.outcome == .deferred, !Task.isCancelled else { return answer }
            await Task.yield()
        }
    }

    /// - Returns: The answers in the order of the pushes' sequences and devices, not in the order of the parameters.
    func deliver(_ pushes: Delivery...) async -> [TransportAnswer] { await deliver(pushes) }

    func deliver(_ pushes: [Delivery]) async -> [TransportAnswer] {
        let answers = await transport.deliver(pushes)
        return answers.sorted { ($0.id.push, $0.id.device) < ($1.id.push, $1.id.device) }
    }
}

/// A clock that moves only when a test advances it.
final class TestClock: Sendable {
    private let time: Mutex<Instant>

    init(_ now: Instant) { time = Mutex(now) }

    var now: Instant { time.withLock { $0 } }

    func advance(by duration: Duration) { time.withLock { $0 = $0.advanced(by: duration) } }
}

private final class AnswerWait: Sendable {
    private struct State {
        var hasEnded = false
        var waiting: [AsyncStream<Void>.Continuation] = []
    }

    private let state = Mutex(State())

    func end() {
        let waiting = state.withLock { state in
            state.hasEnded = true
            return state.waiting
        }
        for wait in waiting { wait.finish() }
    }

    func wait() async throws {
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        let isOver = state.withLock { state in
            state.waiting.append(end)
            return state.hasEnded
        }
        if isOver { end.finish() }
        for await _ in ended {}
        try Task.checkCancellation()
    }
}

func webhookSettings(_ text: String) throws -> WebhookSettings {
    try SettingsReader(text: text, file: "p.yaml").decode(WebhookSettings.self)
}

func push(
    _ sequence: UInt64, to device: String = "mac", of user: String = "_alice", attempts: Int = 0
) -> Delivery {
    let line =
        #"{"notificationID":"n","user":"\#(user)","device":"\#(device)","transport":"hook","token":"t","#
        + #""headers":{"apns-id":"id-\#(sequence)\#(user)-\#(device)","apns-push-type":"alert"},"payload":{},"causes":[]}"#
    var delivery = Delivery(id: .init(push: sequence, device: device), transport: "hook", line: Array(line.utf8))
    delivery.attempts = attempts
    return delivery
}
