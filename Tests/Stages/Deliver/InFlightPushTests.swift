import PipelineKit
import Testing
import Time

@testable import Deliver

/// Pushes that are in flight when they expire, when their device is unregistered, or when a newer push replaces them.
/// Times are seconds since 1970.
@Suite struct InFlightPushTests {
    /// A harness with one device and one push, number 2, with collapse ID `c`. The transport has answered that the
    /// push is in flight and is to be handed out again at second 10.
    private func harness(_ push: String = push(), settings: String = "") throws -> DeliverHarness {
        var harness = try DeliverHarness(settings: "transports: {apns: {use: file}}\n" + settings)
        try harness.feed(register("mac"), push)
        harness.answer(inFlight(try #require(harness.takeDeliveries().first), until: 10))
        return harness
    }

    private func inFlight(_ delivery: Delivery, until second: Int64) -> TransportAnswer {
        var answer = notSent(delivery, until: second)
        (answer.reason, answer.isUnderWay) = ("in_flight", true)
        return answer
    }

    /// The answer that the transport has not sent the push, and asks for it again at `second`.
    private func notSent(_ delivery: Delivery, until second: Int64) -> TransportAnswer {
        TransportAnswer(
            delivery.id, .deferred, reason: "no stream to the server is free", attempts: 0,
            until: Instant(microseconds: second * 1_000_000))
    }

    /// Feeds a newer push with the same collapse ID. The transport answers that it has not sent the newer push, and
    /// asks for it again at `second`.
    private func feedNewerPush(_ harness: inout DeliverHarness, until second: Int64) throws {
        try harness.feed(push())
        harness.answer(notSent(try #require(harness.takeDeliveries().first), until: second))
    }

    @Test func `a push in flight is queried while a newer push waits, and both are accepted`() throws {
        var harness = try harness()
        #expect(harness.outcomes.last?.contains(#","under_way":true"#) == true)
        try feedNewerPush(&harness, until: 20)
        harness.advance(to: 10)
        let asked = harness.takeDeliveries()
        #expect(asked.map(\.id.push) == [2] && asked[0].isStatusQuery)
        harness.answer(TransportAnswer(asked[0].id, .accepted, status: 200))
        harness.advance(to: 20)
        harness.answer(TransportAnswer(try #require(harness.takeDeliveries().first).id, .accepted, status: 200))
        #expect(try harness.takeSummary() == ["deferred 2 mac", "deferred 3 mac", "accepted 2 mac", "accepted 3 mac"])
    }

    @Test func `a push that was not sent after all is superseded by a newer push that waits`() throws {
        var harness = try harness()
        try feedNewerPush(&harness, until: 20)
        harness.advance(to: 10)
        harness.answer(notSent(try #require(harness.takeDeliveries().first), until: 15))
        #expect(harness.outcomes.last?.contains(#""outcome":"superseded","answer":"deferred","by":3"#) == true)
        harness.advance(to: 15)
        #expect(harness.deliveries.isEmpty)
        #expect(harness.stage.pending.count == 1)
    }

    @Test func `after a newer push was accepted, a push in flight is queried and not sent again`() throws {
        var harness = try harness()
        try harness.feed(push())
        harness.answer(TransportAnswer(try #require(harness.takeDeliveries().first).id, .accepted, status: 200))
        harness.advance(to: 10)
        let asked = try #require(harness.takeDeliveries().first)
        #expect(asked.id.push == 2 && asked.isStatusQuery)
        harness.answer(TransportAnswer(asked.id, .deferred, reason: "its answer was lost", attempts: 1))
        let end = try #require(harness.outcomes.last)
        #expect(end.contains(#""superseded","answer":"deferred","by":3,"reason":"its answer was lost","attempts":1"#))
        harness.advance(to: 100)
        #expect(harness.deliveries.isEmpty && harness.stage.pending.isEmpty)
    }

    @Test func `of two newer pushes that wait behind a push in flight, the older is superseded`() throws {
        var harness = try harness()
        try feedNewerPush(&harness, until: 20)
        try feedNewerPush(&harness, until: 30)
        #expect(
            try harness.takeSummary() == ["deferred 2 mac", "deferred 3 mac", "superseded 3 mac", "deferred 4 mac"])
        harness.advance(to: 10)
        harness.answer(TransportAnswer(try #require(harness.takeDeliveries().first).id, .accepted, status: 200))
        harness.advance(to: 30)
        #expect(harness.takeDeliveries().map(\.id.push) == [4])
        #expect(try harness.takeSummary() == ["accepted 2 mac"])
    }

    @Test func `the answer to a push in flight counts even after the push has expired`() throws {
        var harness = try harness(push(expiration: 8))
        harness.advance(to: 10)
        let asked = try #require(harness.takeDeliveries().first)
        #expect(asked.isStatusQuery)
        harness.answer(inFlight(asked, until: 12))
        harness.advance(to: 12)
        harness.answer(TransportAnswer(try #require(harness.takeDeliveries().first).id, .accepted, status: 200))
        #expect(try harness.takeSummary() == ["deferred 2 mac", "deferred 2 mac", "accepted 2 mac"])
    }

    @Test func `an expired push that was not sent after all ends as expired`() throws {
        var harness = try harness(push(expiration: 8))
        harness.advance(to: 10)
        harness.answer(notSent(try #require(harness.takeDeliveries().first), until: 12))
        harness.advance(to: 12)
        #expect(harness.outcomes.last?.contains(#""outcome":"expired""#) == true)
        #expect(harness.outcomes.last?.contains(#""attempts":0"#) == true)
        #expect(harness.deliveries.isEmpty)
    }

    @Test
    func `status queries for a push end five minutes after it has expired, and the outcome counts an attempt`() throws {
        var harness = try harness(push(expiration: 8))
        for second in stride(from: Int64(10), to: 308, by: 100) {
            harness.advance(to: second)
            for delivery in harness.takeDeliveries() { harness.answer(inFlight(delivery, until: second + 100)) }
        }
        harness.advance(to: 307)
        #expect(harness.stage.pending.count == 1)
        harness.advance(to: 308)
        #expect(harness.deliveries.isEmpty && harness.stage.pending.isEmpty)
        #expect(harness.outcomes.last?.contains(#""outcome":"expired""#) == true)
        #expect(harness.outcomes.last?.contains(#""attempts":1"#) == true)
    }

    @Test func `even while deliver has stopped its app, a push in flight is queried`() throws {
        var harness = try harness()
        try harness.feed(push(collapseID: "other"))
        harness.answer(
            TransportAnswer(try #require(harness.takeDeliveries().first).id, .stopped, status: 403, reason: "BadTopic"))
        harness.advance(to: 10)
        let asked = harness.takeDeliveries()
        #expect(asked.map(\.id.push) == [2] && asked[0].isStatusQuery)
    }

    @Test(arguments: [unregister("mac"), register("mac", topic: "com.example.Other")])
    func `a push in flight is queried after its device is unregistered or has a new topic`(_ command: String) throws {
        var harness = try harness()
        try harness.feed(command)
        harness.advance(to: 10)
        let asked = try #require(harness.takeDeliveries().first)
        #expect(asked.isStatusQuery)
        harness.answer(inFlight(asked, until: 12))
        harness.advance(to: 12)
        harness.answer(TransportAnswer(try #require(harness.takeDeliveries().first).id, .accepted, status: 200))
        #expect(try harness.takeSummary() == ["deferred 2 mac", "deferred 2 mac", "accepted 2 mac"])
    }

    @Test func `a push that was not sent after all is not sent to an unregistered device`() throws {
        var harness = try harness()
        try harness.feed(unregister("mac"))
        harness.advance(to: 10)
        harness.answer(notSent(try #require(harness.takeDeliveries().first), until: 12))
        harness.advance(to: 12)
        #expect(harness.deliveries.isEmpty)
        #expect(try harness.takeSummary() == ["deferred 2 mac", "deferred 2 mac", "unregistered 2 mac"])
    }

    @Test func `a push in flight without a newer push is handed out again, not only queried`() throws {
        var harness = try harness()
        harness.advance(to: 10)
        #expect(harness.takeDeliveries().map(\.isStatusQuery) == [false])
    }

    @Test func `a snapshot keeps pushes in flight and the newer pushes that wait behind them`() throws {
        var harness = try harness()
        try feedNewerPush(&harness, until: 20)
        var other = try harness.restarted(settings: "transports: {apns: {use: file}}")
        #expect(other.state("pending") == harness.state("pending"))
        #expect(harness.state("pending").contains(#""under_way":true"#))
        other.advance(to: 10)
        #expect(other.deliveries.map(\.id.push) == [2] && other.deliveries[0].isStatusQuery)
    }
}
