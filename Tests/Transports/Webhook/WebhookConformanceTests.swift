import Foundation
import PipelineTestKit
import Synchronization
import TestSupport
import Testing

@testable import TransportWebhook

@Suite(.timeLimit(.minutes(5))) struct WebhookConformanceTests {
    @Test func `the webhook passes the checks for transports`() async throws {
        let gate = Gate()
        let server = TestServer { _, _ in
            gate.pass()
            return .status(200)
        }
        defer { server.stop() }
        let peer = TransportPeer(
            arrivals: { server.requests.compactMap { $0.headers["webhook-id"] } }, pause: gate.shut, resume: gate.open)
        let check = try TransportCheck(
            WebhookTransport.self, settings: "url: \(server.url)\nprivateNetworks: allow", peer: peer)
        let problems = await check.problems()
        #expect(problems == [])
    }
}

/// Blocks callers of ``pass()`` while it is shut.
private final class Gate: Sendable {
    private let condition = NSCondition()
    private let isShut = Mutex(false)

    @Sendable func shut() { isShut.withLock { $0 = true } }

    @Sendable func open() {
        condition.lock()
        isShut.withLock { $0 = false }
        condition.broadcast()
        condition.unlock()
    }

    func pass() {
        condition.lock()
        while isShut.withLock({ $0 }) { condition.wait() }
        condition.unlock()
    }
}
