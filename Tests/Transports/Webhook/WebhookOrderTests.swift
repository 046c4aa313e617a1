import Dispatch
import Foundation
import PipelineKit
import Synchronization
import TestSupport
import Testing
import Time

@testable import TransportWebhook

@Suite(.timeLimit(.minutes(5))) struct WebhookOrderTests {
    @Test func `a request ends as cancelled if no thread can take it`() async throws {
        let inbox = try #require(HTTPInbox())
        let url = try #require(URL(string: "http://127.0.0.1:9/"))
        let request = HTTPRequest(url: url, headers: [], body: [], timeout: .seconds(1))
        let result = await withCheckedContinuation { end in
            _ = inbox.add(HTTPOrder(id: 1, request: request, end: end))
            inbox.refuseAll()
        }
        #expect(result == .failure(.cancelled))
    }

    @Test func `the pushes of each device are sent one after the other, in their order`() async throws {
        let inFlight = Mutex<Set<String>>([])
        let collisions = Mutex(0)
        let server = TestServer { request, _ in
            let device = String(request.headers["webhook-id"]?.split(separator: "_").last ?? "")
            if !inFlight.withLock({ $0.insert(device).inserted }) { collisions.withLock { $0 += 1 } }
            inFlight.withLock { _ = $0.remove(device) }
            return .status(200)
        }
        defer { server.stop() }
        let pushes = (1...20).flatMap { [push($0), push($0, to: "phone"), push(100 + $0, to: "mac", of: "_bob")] }
        let answers = try await Rig(server).deliver(pushes)
        #expect(answers.count == 60 && answers.allSatisfy { $0.outcome == .accepted })
        #expect(collisions.withLock(\.self) == 0)
        for (device, first) in [("alice-mac", 1), ("alice-phone", 1), ("bob-mac", 101)] {
            let ids = server.requests.compactMap { $0.headers["webhook-id"] }.filter { $0.hasSuffix(device) }
            #expect(ids == (first..<first + 20).map { "id-\($0)_\(device)" })
        }
    }

    @Test func `a push that must be tried again delays no other push`() async throws {
        let server = TestServer { request, _ in .status(request.headers["webhook-id"] == "id-1_alice-mac" ? 503 : 200) }
        defer { server.stop() }
        let answers = try await Rig(server).deliver(push(1), push(2), push(1, to: "phone"))
        #expect(answers.map(\.outcome) == [.deferred, .accepted, .accepted])
    }

    @Test func `a push without an answer stays in flight, and gets the answer when it is passed again`() async throws {
        let slow = try await SlowServer("concurrency: 2\ntimeout: 60s")
        defer { slow.stop() }
        let rig = slow.rig
        await slow.begin(push(1))
        #expect(rig.transport.inFlightMax == 1)
        // `begin` has ended the waits for answers, so this call returns at once. Push 2 is for the same device, so it
        // is not sent before push 1 has its answer.
        let others = await rig.deliver(push(1), push(2))
        #expect(others.map(\.outcome) == [.deferred, .deferred] && others.map(\.attempts) == [0, 0])
        slow.release()
        #expect(await rig.deliverUntilFinal(push(1)) == TransportAnswer(push(1).id, .accepted, status: 200))
        #expect(slow.sent(to: "mac") == ["id-1_alice-mac"])
        #expect(rig.transport.inFlightMax == 2)
        await rig.transport.close()
    }

    @Test func `a push behind a slow request is deferred for a quarter of the request's age, within limits`()
        async throws
    {
        let slow = try await SlowServer("timeout: 100s")
        defer { slow.stop() }
        let (rig, start) = (slow.rig, slow.rig.clock.now)
        await slow.begin(push(1))
        for (age, wait) in [(2, 1.0), (6, 1.5), (12, 3), (60, 10), (98, 2), (99.5, 1)] {
            rig.clock.advance(by: .seconds(age) - (rig.clock.now - start))
            let answers = await rig.deliver(push(1), push(2))
            #expect(answers.map(\.reason) == ["in_flight", "waits for an earlier push"])
            #expect(answers.allSatisfy { $0.until == rig.clock.now.advanced(by: .seconds(wait)) }, "\(answers)")
        }
        slow.release()
        #expect(await rig.deliverUntilFinal(push(1)).outcome == .accepted)
        #expect(await rig.deliverUntilFinal(push(2)).outcome == .accepted)
        await rig.transport.close()
    }

    @Test func `a slow push delays no other answer, and its late answer needs no further call of take`() async throws {
        let slow = try await SlowServer("timeout: 60s")
        defer { slow.stop() }
        let (answers, report) = AsyncStream.makeStream(of: [TransportAnswer].self)
        await slow.begin(push(1))
        slow.rig.transport.take([push(1)]) { report.yield($0) }
        slow.rig.transport.take([push(2, to: "phone")]) { report.yield($0) }
        var said: [String] = []
        for await some in answers {
            said += some.map { "\($0.id.push) \($0.outcome)" }
            if said.contains("2 accepted") { slow.release() }
            if said.contains("1 accepted") { break }
        }
        #expect(said.last == "1 accepted" && said.contains("2 accepted"))
        await slow.rig.transport.close()
    }

    @Test func `pushes to a silent server are deferred, until the server answers again`() async throws {
        let (arrived, arrivals) = AsyncStream.makeStream(of: Void.self)
        let isSilent = Mutex(true)
        let server = TestServer { _, _ in
            arrivals.yield()
            return isSilent.withLock(\.self) ? .silence : .status(200)
        }
        defer { server.stop() }
        let rig = try await Rig(server, "concurrency: 3\ntimeout: 100ms")
        _ = await rig.begin(push(1), arrived)
        let waits = await [rig.deliver(push(2, to: "a"))[0], rig.deliver(push(3, to: "b"))[0]]
        #expect(waits.allSatisfy { $0.outcome == .deferred && $0.attempts == 0 })
        isSilent.withLock { $0 = false }
        #expect(await rig.deliverUntilFinal(push(4, to: "c")).outcome == .accepted)
        await rig.transport.close()
    }

    @Test func `as many requests are in flight as the settings allow, and no more`() async throws {
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

    @Test func `a cancelled delivery returns the answers so far`() async throws {
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

    @Test func `a closed transport sends nothing`() async throws {
        let server = TestServer { _, _ in .status(200) }
        defer { server.stop() }
        let rig = try await Rig(server)
        await rig.transport.close()
        #expect(await rig.deliver(push(1)).map(\.reason) == ["the transport is not open"])
        #expect(server.requests.isEmpty)
    }
}

/// A server that holds one request until ``release()``. After ``begin(_:)``, a delivery does not wait for answers.
private final class SlowServer: Sendable {
    let rig: Rig
    private let server: TestServer
    private let held: HeldPush
    private let arrived: AsyncStream<Void>
    private let gate: DispatchSemaphore

    init(_ settings: String) async throws {
        let (arrived, arrivals) = AsyncStream.makeStream(of: Void.self)
        let (held, gate) = (HeldPush(), DispatchSemaphore(value: 0))
        server = TestServer { request, _ in
            guard held.id.withLock({ $0 == request.headers["webhook-id"] }) else { return .status(200) }
            arrivals.yield()
            gate.wait()
            return .status(200)
        }
        (self.held, self.arrived, self.gate) = (held, arrived, gate)
        rig = try await Rig(server, settings)
    }

    /// Sends a push that the server holds. Returns once the push is deferred.
    func begin(_ push: Delivery) async {
        held.id.withLock { $0 = WebhookPush(push)?.apnsID }
        #expect(await rig.begin(push, arrived).map(\.reason) == ["in_flight"])
    }

    func release() { gate.signal() }

    func stop() { server.stop() }

    func sent(to device: String) -> [String] {
        server.requests.compactMap { $0.headers["webhook-id"] }.filter { $0.hasSuffix(device) }
    }

    private final class HeldPush: Sendable {
        let id = Mutex<String?>(nil)
    }
}

extension Rig {
    /// Sends a push, and ends all waits for answers once the push is in flight.
    ///
    /// - Parameter arrived: Gets an element when the server has got the request of the push.
    fileprivate func begin(_ push: Delivery, _ arrived: AsyncStream<Void>) async -> [TransportAnswer] {
        async let answers = deliver(push)
        for await _ in arrived { break }
        endAnswerWaits()
        return await answers
    }
}

/// Counts the requests that a server handles at the same time. Each request waits until `awaited` requests have come.
private final class Gauge: Sendable {
    private struct State {
        var inside = 0
        var entered = 0
        var highest = 0
    }

    private let state = Mutex(State())
    private let condition = NSCondition()
    private let awaited: Int

    init(awaited: Int) { self.awaited = awaited }

    var highest: Int { state.withLock(\.highest) }

    func enter() {
        state.withLock { state in
            state.inside += 1
            state.entered += 1
            state.highest = max(state.highest, state.inside)
        }
        condition.lock()
        condition.broadcast()
        while state.withLock(\.entered) < awaited { condition.wait() }
        condition.unlock()
    }

    func leave() { state.withLock { $0.inside -= 1 } }
}
