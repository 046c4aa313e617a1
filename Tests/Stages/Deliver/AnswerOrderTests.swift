import PipelineKit
import Testing
import Time

@testable import Deliver

/// Answers that come late or out of order, and answers that withdraw deliveries. Times are seconds since 1970.
@Suite struct AnswerOrderTests {
    private func harness(_ events: String...) throws -> (DeliverHarness, [Delivery]) {
        var harness = try DeliverHarness(settings: "transports: {apns: {use: file}}")
        try harness.feed(register("mac"))
        for event in events { try harness.feed(event) }
        let deliveries = harness.takeDeliveries()
        return (harness, deliveries)
    }

    private func deferred(_ delivery: Delivery, until second: Int64) -> TransportAnswer {
        TransportAnswer(
            delivery.id, .deferred, status: 503, until: Instant(microseconds: second * 1_000_000))
    }

    private func accepted(_ delivery: Delivery) -> TransportAnswer { TransportAnswer(delivery.id, .accepted) }

    @Test func `a deferred push is not sent again if a newer push has its collapse ID`() throws {
        var (harness, pushes) = try harness(push(), push())
        harness.answer(accepted(pushes[1]))
        harness.answer(deferred(pushes[0], until: 10))
        harness.advance(to: 20)
        #expect(try harness.takeSummary() == ["accepted 3 mac", "superseded 2 mac"])
        #expect(harness.deliveries.isEmpty && harness.stage.pending.isEmpty)
    }

    @Test func `a waiting push is not sent while a newer push with its collapse ID has no answer`() throws {
        var (harness, pushes) = try harness(push())
        harness.answer(deferred(pushes[0], until: 10))
        try harness.feed(push())
        let newer = try #require(harness.takeDeliveries().first)
        harness.advance(to: 20)
        #expect(harness.deliveries.isEmpty)
        harness.answer(accepted(newer))
        #expect(try harness.takeSummary() == ["deferred 2 mac", "superseded 2 mac", "accepted 3 mac"])
    }

    @Test func `if a newer push replaces a push that is being retried, the older push is not retried again`() throws {
        var (harness, pushes) = try harness(push())
        harness.answer(deferred(pushes[0], until: 10))
        harness.advance(to: 10)
        let again = try #require(harness.takeDeliveries().first)
        try harness.feed(push())
        harness.answer(deferred(again, until: 20))
        harness.answer(accepted(try #require(harness.takeDeliveries().first)))
        harness.advance(to: 30)
        #expect(harness.deliveries.isEmpty)
        #expect(try harness.takeSummary() == ["deferred 2 mac", "superseded 2 mac", "accepted 3 mac"])
    }

    @Test func `a deferred push without a collapse ID is sent again, even after a newer push was accepted`() throws {
        var (harness, pushes) = try harness(push(collapseID: nil), push(collapseID: nil))
        harness.answer(accepted(pushes[1]))
        harness.answer(deferred(pushes[0], until: 10))
        harness.advance(to: 10)
        #expect(harness.takeDeliveries() == [pushes[0]])
    }

    @Test func `a late answer to a push in flight becomes its outcome`() throws {
        var (harness, pushes) = try harness(push())
        var first = deferred(pushes[0], until: 60)
        (first.reason, first.isUnderWay) = ("in_flight", true)
        harness.answer(first)
        harness.answer(accepted(pushes[0]))
        harness.advance(to: 100)
        #expect(try harness.takeSummary() == ["deferred 2 mac", "accepted 2 mac"])
        #expect(harness.deliveries.isEmpty && harness.stage.pending.isEmpty)
    }

    @Test func `an answer that a token is invalid withdraws the deliveries to the token`() throws {
        var (harness, pushes) = try harness(push(collapseID: nil), push(collapseID: nil), push(collapseID: nil))
        harness.answer(TransportAnswer(pushes[0].id, .unregistered, status: 410, reason: "Unregistered"))
        harness.wakeOnce()
        #expect(harness.withdrawals.map(\.id.push) == [3, 4])
        #expect(harness.withdrawals.allSatisfy { $0.outcome == .unregistered && $0.attempts == 0 })
        for answer in harness.withdrawals { harness.answer(answer) }
        #expect(
            try harness.takeSummary() == [
                "unregistered 2 mac", "device.retired 2 mac", "unregistered 3 mac", "unregistered 4 mac",
            ])
        #expect(harness.outcomes.isEmpty && harness.stage.deadline == nil)
    }

    @Test func `stopping an app withdraws the deliveries to its devices`() throws {
        var (harness, pushes) = try harness(push(collapseID: nil), push(collapseID: nil))
        harness.answer(TransportAnswer(pushes[0].id, .stopped, status: 403, reason: "InvalidProviderToken"))
        harness.wakeOnce()
        #expect(harness.withdrawals.map(\.id.push) == [3])
        for answer in harness.withdrawals { harness.answer(answer) }
        #expect(try harness.takeSummary().filter { $0.hasPrefix("held") } == ["held 2 mac", "held 3 mac"])
    }

    @Test func `after a restart, the deliveries to an invalid token are withdrawn again`() throws {
        var (harness, pushes) = try harness(push(collapseID: nil), push(collapseID: nil))
        harness.answer(TransportAnswer(pushes[0].id, .unregistered, status: 410, reason: "Unregistered"))
        harness.wakeOnce()
        var out = Outbox()
        try harness.restarted(settings: "transports: {apns: {use: file}}").stage.handOutAgain(
            at: harness.now, into: &out)
        let withdrawn = out.takeWithdrawals().map(\.id)
        #expect(withdrawn.map(\.push) == [3])
        #expect(out.takeDeliveries().map(\.id) == withdrawn)
    }

    @Test func `pushes without an answer are handed out again in order`() throws {
        var (harness, pushes) = try harness(push(collapseID: nil), push(collapseID: nil), push(collapseID: nil))
        harness.answer(deferred(pushes[0], until: 10))
        harness.advance(to: 10)
        harness.answer(accepted(pushes[1]))
        let same = try harness.restarted(settings: "transports: {apns: {use: file}}")
        for stage in [harness.stage, same.stage] {
            var out = Outbox()
            stage.handOutAgain(at: harness.now, into: &out)
            #expect(out.takeDeliveries() == [pushes[0], pushes[2]])
            #expect(stage.firstUnanswered == 4)
        }
    }
}
