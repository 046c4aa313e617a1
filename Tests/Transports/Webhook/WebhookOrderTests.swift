import Glibc
import PipelineKit
import Synchronization
import TestSupport
import Testing

@testable import TransportWebhook

@Suite struct WebhookOrderTests {
    @Test func `one device's pushes keep their order through retries, others do not wait for them`() async throws {
        let failures = Mutex<Set<String>>([])
        let server = TestServer { request, _ in
            let id = request.headers["webhook-id"] ?? ""
            let isFirstTime = failures.withLock { $0.insert(id).inserted }
            return .status(isFirstTime && id.hasSuffix("-mac") ? 500 : 200)
        }
        defer { server.stop() }
        let pushes = (1...20).flatMap { [push($0), push($0, to: "phone"), push($0, to: "mac", of: "_bob")] }
        let answers = try await Rig(server).deliver(pushes)
        #expect(answers.count == 60 && answers.allSatisfy { $0.outcome == .accepted })
        let ofAlice = server.requests.filter { $0.body.contains("_alice") }.compactMap { $0.headers["webhook-id"] }
        #expect(
            ofAlice.filter { $0.hasSuffix("-mac") }
                == (1...20).flatMap { ["id-\($0)_alice-mac", "id-\($0)_alice-mac"] })
        #expect(ofAlice.filter { $0.hasSuffix("-phone") } == (1...20).map { "id-\($0)_alice-phone" })
    }

    @Test func `as many requests are under way as the settings allow, and no more`() async throws {
        let gauge = Gauge(awaited: 3)
        let server = TestServer { _, _ in
            gauge.enter()
            gauge.leave()
            return .status(200)
        }
        defer { server.stop() }
        let pushes = (0..<30).map { push(1, to: "d\($0)") }
        let answers = try await Rig(server, "concurrency: 3").deliver(pushes)
        #expect(answers.count == 30)
        #expect(gauge.highest == 3)
    }

    @Test func `a cancelled delivery answers what is settled and leaves the rest open`() async throws {
        let (arrived, arrivals) = AsyncStream.makeStream(of: Void.self)
        let server = TestServer { _, before in
            if before == 1 { arrivals.yield() }
            return before == 0 ? .status(200) : .silence
        }
        defer { server.stop() }
        let rig = try await Rig(server)
        let delivery = Task { await rig.deliver(push(1), push(2), push(3)) }
        for await _ in arrived { break }
        delivery.cancel()
        #expect(await delivery.value == [TransportAnswer(push(1).id, .accepted, status: 200)])
        await rig.transport.close()
    }

    @Test func `after close nothing is sent`() async throws {
        let server = TestServer { _, _ in .status(200) }
        defer { server.stop() }
        let rig = try await Rig(server)
        await rig.transport.close()
        #expect(await rig.deliver(push(1)).map(\.reason) == ["the transport is not open"])
        #expect(server.requests.isEmpty)
    }
}

/// Counts who is inside; the first few wait for each other.
private final class Gauge: Sendable {
    private struct State {
        var inside = 0
        var entered = 0
        var highest = 0
    }

    private let state = Mutex(State())
    private let awaited: Int

    init(awaited: Int) { self.awaited = awaited }

    var highest: Int { state.withLock(\.highest) }

    func enter() {
        state.withLock { state in
            state.inside += 1
            state.entered += 1
            state.highest = max(state.highest, state.inside)
        }
        while state.withLock(\.entered) < awaited { sched_yield() }
    }

    func leave() { state.withLock { $0.inside -= 1 } }
}
