import PipelineKit
import Testing
import Time

@testable import Deliver

/// Answers that come late, early or out of order. Times are seconds since 1970.
@Suite struct AnswerOrderTests {
    private func bench(_ events: String...) throws -> (Bench, [Delivery]) {
        var bench = try Bench(transports: "transports: {apns: {use: file}}")
        try bench.feed(register("mac"))
        for event in events { try bench.feed(event) }
        let deliveries = bench.takeDeliveries()
        return (bench, deliveries)
    }

    private func deferred(_ delivery: Delivery, until second: Int64) -> TransportAnswer {
        TransportAnswer(
            delivery.id, .deferred, status: 503, until: Instant(microseconds: second * 1_000_000))
    }

    private func accepted(_ delivery: Delivery) -> TransportAnswer { TransportAnswer(delivery.id, .accepted) }

    @Test func `a deferred push is not sent again if a newer one has its collapse ID`() throws {
        var (bench, pushes) = try bench(push(), push())
        bench.answer(accepted(pushes[1]))
        bench.answer(deferred(pushes[0], until: 10))
        bench.advance(to: 20)
        #expect(try bench.takeStory() == ["accepted 3 mac", "superseded 2 mac"])
        #expect(bench.deliveries.isEmpty && bench.stage.pending.isEmpty)
    }

    @Test func `a waiting push is not sent while a newer one with its collapse ID has no answer`() throws {
        var (bench, pushes) = try bench(push())
        bench.answer(deferred(pushes[0], until: 10))
        try bench.feed(push())
        let newer = try #require(bench.takeDeliveries().first)
        bench.advance(to: 20)
        #expect(bench.deliveries.isEmpty)
        bench.answer(accepted(newer))
        #expect(try bench.takeStory() == ["deferred 2 mac", "superseded 2 mac", "accepted 3 mac"])
    }

    @Test func `a push that is being retried when a newer one comes is not retried again`() throws {
        var (bench, pushes) = try bench(push())
        bench.answer(deferred(pushes[0], until: 10))
        bench.advance(to: 10)
        let again = try #require(bench.takeDeliveries().first)
        try bench.feed(push())
        bench.answer(deferred(again, until: 20))
        bench.answer(accepted(try #require(bench.takeDeliveries().first)))
        bench.advance(to: 30)
        #expect(bench.deliveries.isEmpty)
        #expect(try bench.takeStory() == ["deferred 2 mac", "superseded 2 mac", "accepted 3 mac"])
    }

    @Test func `pushes without a collapse ID replace nothing, in any order of answers`() throws {
        var (bench, pushes) = try bench(push(collapseID: nil), push(collapseID: nil))
        bench.answer(accepted(pushes[1]))
        bench.answer(deferred(pushes[0], until: 10))
        bench.advance(to: 10)
        #expect(bench.takeDeliveries() == [pushes[0]])
    }

    @Test func `a late answer to a push that is under way counts`() throws {
        var (bench, pushes) = try bench(push())
        var late = deferred(pushes[0], until: 60)
        (late.reason, late.isUnderWay) = ("in_flight", true)
        bench.answer(late)
        bench.answer(accepted(pushes[0]))
        bench.advance(to: 100)
        #expect(try bench.takeStory() == ["deferred 2 mac", "accepted 2 mac"])
        #expect(bench.deliveries.isEmpty && bench.stage.pending.isEmpty)
    }

    @Test func `an invalid token withdraws the deliveries to it`() throws {
        var (bench, pushes) = try bench(push(collapseID: nil), push(collapseID: nil), push(collapseID: nil))
        bench.answer(TransportAnswer(pushes[0].id, .unregistered, status: 410, reason: "Unregistered"))
        bench.wakeOnce()
        #expect(bench.withdrawals.map(\.id.push) == [3, 4])
        #expect(bench.withdrawals.allSatisfy { $0.outcome == .unregistered && $0.attempts == 0 })
        for answer in bench.withdrawals { bench.answer(answer) }
        #expect(
            try bench.takeStory() == [
                "unregistered 2 mac", "device.retired 2 mac", "unregistered 3 mac", "unregistered 4 mac",
            ])
        #expect(bench.outcomes.isEmpty && bench.stage.deadline == nil)
    }

    @Test func `a stopped app withdraws its deliveries`() throws {
        var (bench, pushes) = try bench(push(collapseID: nil), push(collapseID: nil))
        bench.answer(TransportAnswer(pushes[0].id, .stopped, status: 403, reason: "InvalidProviderToken"))
        bench.wakeOnce()
        #expect(bench.withdrawals.map(\.id.push) == [3])
        for answer in bench.withdrawals { bench.answer(answer) }
        #expect(try bench.takeStory().filter { $0.hasPrefix("held") } == ["held 2 mac", "held 3 mac"])
    }

    @Test func `after a restart nothing is sent to an invalid token`() throws {
        var (bench, pushes) = try bench(push(collapseID: nil), push(collapseID: nil))
        bench.answer(TransportAnswer(pushes[0].id, .unregistered, status: 410, reason: "Unregistered"))
        bench.wakeOnce()
        var out = Outbox()
        try bench.restarted(transports: "transports: {apns: {use: file}}").stage.handOutAgain(at: bench.now, into: &out)
        #expect(out.takeDeliveries().map(\.id) == out.takeWithdrawals().map(\.id))
    }

    @Test func `pushes without an answer are handed out again in order`() throws {
        var (bench, pushes) = try bench(push(collapseID: nil), push(collapseID: nil), push(collapseID: nil))
        bench.answer(deferred(pushes[0], until: 10))
        bench.advance(to: 10)
        bench.answer(accepted(pushes[1]))
        let same = try bench.restarted(transports: "transports: {apns: {use: file}}")
        for stage in [bench.stage, same.stage] {
            var out = Outbox()
            stage.handOutAgain(at: bench.now, into: &out)
            #expect(out.takeDeliveries() == [pushes[0], pushes[2]])
            #expect(stage.firstOut == 4)
        }
    }
}
