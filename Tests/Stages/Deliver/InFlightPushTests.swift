import PipelineKit
import Testing
import Time

@testable import Deliver

/// Pushes that a transport still has when they expire, or lose their device, or a newer push replaces them. Times are
/// seconds since 1970.
@Suite struct InFlightPushTests {
    /// A harness with one device and one push with collapse ID `c`, which is under way; its status is queried at
    /// second 10.
    private func bench(_ push: String = push(), settings: String = "") throws -> Bench {
        var bench = try Bench(transports: "transports: {apns: {use: file}}\n" + settings)
        try bench.feed(register("mac"), push)
        bench.answer(late(try #require(bench.takeDeliveries().first), until: 10))
        return bench
    }

    private func late(_ delivery: Delivery, until second: Int64) -> TransportAnswer {
        var answer = waits(delivery, until: second)
        (answer.reason, answer.isUnderWay) = ("in_flight", true)
        return answer
    }

    private func waits(_ delivery: Delivery, until second: Int64) -> TransportAnswer {
        TransportAnswer(
            delivery.id, .deferred, reason: "no room at the server", attempts: 0,
            until: Instant(microseconds: second * 1_000_000))
    }

    /// Feeds a newer push with the collapse ID, which waits until that second.
    private func overtake(_ bench: inout Bench, until second: Int64) throws {
        try bench.feed(push())
        bench.answer(waits(try #require(bench.takeDeliveries().first), until: second))
    }

    @Test func `a newer push that waits too lets the answer come first`() throws {
        var bench = try bench()
        #expect(bench.outcomes.last?.contains(#","under_way":true"#) == true)
        try overtake(&bench, until: 20)
        bench.advance(to: 10)
        let asked = bench.takeDeliveries()
        #expect(asked.map(\.id.push) == [2] && asked[0].isStatusQuery)
        bench.answer(TransportAnswer(asked[0].id, .accepted, status: 200))
        bench.advance(to: 20)
        bench.answer(TransportAnswer(try #require(bench.takeDeliveries().first).id, .accepted, status: 200))
        #expect(try bench.takeStory() == ["deferred 2 mac", "deferred 3 mac", "accepted 2 mac", "accepted 3 mac"])
    }

    @Test func `a push that was not sent after all ends if a newer one waits`() throws {
        var bench = try bench()
        try overtake(&bench, until: 20)
        bench.advance(to: 10)
        bench.answer(waits(try #require(bench.takeDeliveries().first), until: 15))
        #expect(bench.outcomes.last?.contains(#""outcome":"superseded","answer":"deferred","by":3"#) == true)
        bench.advance(to: 15)
        #expect(bench.deliveries.isEmpty)
        #expect(bench.stage.pending.count == 1)
    }

    @Test func `if a newer push is accepted first, only its status is queried`() throws {
        var bench = try bench()
        try bench.feed(push())
        bench.answer(TransportAnswer(try #require(bench.takeDeliveries().first).id, .accepted, status: 200))
        bench.advance(to: 10)
        let asked = try #require(bench.takeDeliveries().first)
        #expect(asked.id.push == 2 && asked.isStatusQuery)
        bench.answer(TransportAnswer(asked.id, .deferred, reason: "its answer was lost", attempts: 1))
        let end = try #require(bench.outcomes.last)
        #expect(end.contains(#""superseded","answer":"deferred","by":3,"reason":"its answer was lost","attempts":1"#))
        bench.advance(to: 100)
        #expect(bench.deliveries.isEmpty && bench.stage.pending.isEmpty)
    }

    @Test func `of three pushes only the last is sent, and each has one outcome`() throws {
        var bench = try bench()
        try overtake(&bench, until: 20)
        try overtake(&bench, until: 30)
        #expect(try bench.takeStory() == ["deferred 2 mac", "deferred 3 mac", "superseded 3 mac", "deferred 4 mac"])
        bench.advance(to: 10)
        bench.answer(TransportAnswer(try #require(bench.takeDeliveries().first).id, .accepted, status: 200))
        bench.advance(to: 30)
        #expect(bench.takeDeliveries().map(\.id.push) == [4])
        #expect(try bench.takeStory() == ["accepted 2 mac"])
    }

    @Test func `its answer counts even after it has expired`() throws {
        var bench = try bench(push(expiration: 8))
        bench.advance(to: 10)
        let asked = try #require(bench.takeDeliveries().first)
        #expect(asked.isStatusQuery)
        bench.answer(late(asked, until: 12))
        bench.advance(to: 12)
        bench.answer(TransportAnswer(try #require(bench.takeDeliveries().first).id, .accepted, status: 200))
        #expect(try bench.takeStory() == ["deferred 2 mac", "deferred 2 mac", "accepted 2 mac"])
    }

    @Test func `a push that was not sent after all expires`() throws {
        var bench = try bench(push(expiration: 8))
        bench.advance(to: 10)
        bench.answer(waits(try #require(bench.takeDeliveries().first), until: 12))
        bench.advance(to: 12)
        #expect(bench.outcomes.last?.contains(#""outcome":"expired""#) == true)
        #expect(bench.outcomes.last?.contains(#""attempts":0"#) == true)
        #expect(bench.deliveries.isEmpty)
    }

    @Test func `five minutes after its expiration queries end, and the outcome counts an attempt`() throws {
        var bench = try bench(push(expiration: 8))
        for second in stride(from: Int64(10), to: 308, by: 100) {
            bench.advance(to: second)
            for delivery in bench.takeDeliveries() { bench.answer(late(delivery, until: second + 100)) }
        }
        bench.advance(to: 310)
        #expect(bench.deliveries.isEmpty)
        #expect(bench.outcomes.last?.contains(#""outcome":"expired""#) == true)
        #expect(bench.outcomes.last?.contains(#""attempts":1"#) == true)
    }

    @Test func `its status is also queried while its app is stopped`() throws {
        var bench = try bench()
        try bench.feed(push(collapseID: "other"))
        bench.answer(
            TransportAnswer(try #require(bench.takeDeliveries().first).id, .stopped, status: 403, reason: "BadTopic"))
        bench.advance(to: 10)
        let asked = bench.takeDeliveries()
        #expect(asked.map(\.id.push) == [2] && asked[0].isStatusQuery)
    }

    @Test(arguments: [unregister("mac"), register("mac", topic: "com.example.Other")])
    func `its status is queried when its device is gone`(_ news: String) throws {
        var bench = try bench()
        try bench.feed(news)
        bench.advance(to: 10)
        let asked = try #require(bench.takeDeliveries().first)
        #expect(asked.isStatusQuery)
        bench.answer(late(asked, until: 12))
        bench.advance(to: 12)
        bench.answer(TransportAnswer(try #require(bench.takeDeliveries().first).id, .accepted, status: 200))
        #expect(try bench.takeStory() == ["deferred 2 mac", "deferred 2 mac", "accepted 2 mac"])
    }

    @Test func `a push that was not sent after all is not sent to a device that is gone`() throws {
        var bench = try bench()
        try bench.feed(unregister("mac"))
        bench.advance(to: 10)
        bench.answer(waits(try #require(bench.takeDeliveries().first), until: 12))
        bench.advance(to: 12)
        #expect(bench.deliveries.isEmpty)
        #expect(try bench.takeStory() == ["deferred 2 mac", "deferred 2 mac", "unregistered 2 mac"])
    }

    @Test func `a push that would be sent now is not just queried`() throws {
        var bench = try bench()
        bench.advance(to: 10)
        #expect(bench.takeDeliveries().map(\.isStatusQuery) == [false])
    }

    @Test func `a snapshot keeps pushes that are under way and the pushes that replace them`() throws {
        var bench = try bench()
        try overtake(&bench, until: 20)
        var other = try bench.restarted(transports: "transports: {apns: {use: file}}")
        #expect(other.state("pending") == bench.state("pending"))
        #expect(bench.state("pending").contains(#""under_way":true"#))
        other.advance(to: 10)
        #expect(other.deliveries.map(\.id.push) == [2] && other.deliveries[0].isStatusQuery)
    }
}
