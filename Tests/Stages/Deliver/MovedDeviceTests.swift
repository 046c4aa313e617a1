import PipelineKit
import Testing
import Time

@testable import Deliver

/// Where a waiting push goes if its device is registered again or unregistered.
@Suite struct MovedDeviceTests {
    /// A harness with a push that waits until second 10, and the first delivery of the push.
    private func harness(_ settings: String = "") throws -> (DeliverHarness, Delivery) {
        var harness = try DeliverHarness(
            settings: "transports: {apns: {use: file}, hook: {use: webhook}}\n" + settings)
        try harness.feed(register("mac", token: "old"), push())
        let delivery = try #require(harness.takeDeliveries().first)
        harness.answer(
            TransportAnswer(
                delivery.id, .deferred, status: 503, reason: "Shutdown", until: Instant(microseconds: 10_000_000)))
        return (harness, delivery)
    }

    @Test func `a waiting push goes to the newly registered token, with the same apns-id`() throws {
        var (harness, first) = try harness()
        try harness.feed(register("mac", token: "new"))
        harness.advance(to: 10)
        let again = try #require(harness.takeDeliveries().first)
        #expect(again.text == first.text.replacing(#""token":"old""#, with: #""token":"new""#))
        harness.answer(
            TransportAnswer(again.id, .deferred, status: 503, until: Instant(microseconds: 20_000_000)))
        let restarted = try harness.restarted(settings: "transports: {apns: {use: file}, hook: {use: webhook}}")
        #expect(restarted.state("pending") == harness.state("pending"))
        harness.advance(to: 20)
        #expect(harness.takeDeliveries() == [again])
    }

    @Test func `under retryTo first, as in earlier versions, a waiting push goes to the first token`() throws {
        var (harness, first) = try harness("retryTo: first")
        try harness.feed(register("mac", token: "new"), unregister("mac"))
        harness.advance(to: 10)
        #expect(harness.takeDeliveries() == [first])
        #expect(DeliverSettings.changedDefaults.contains(ChangedDefault("retryTo", before: "first", now: "same-app")))
    }

    @Test func `a waiting push follows its device to another transport, even without a topic`() throws {
        var (harness, first) = try harness()
        try harness.feed(register("mac", transport: "hook", token: "h", topic: nil))
        harness.advance(to: 10)
        let again = try #require(harness.takeDeliveries().first)
        #expect(again.transport == "hook" && again.id == first.id && again.app?.topic == nil)
        #expect(first.text.contains(#","apns-topic":"com.example.Notes""#))
        #expect(!again.text.contains("apns-topic") && again.text.contains(#""transport":"hook","token":"h","#))
        try harness.feed(register("mac", transport: "pigeon"))
        harness.answer(TransportAnswer(again.id, .deferred, until: Instant(microseconds: 20_000_000)))
        harness.advance(to: 20)
        #expect(try harness.takeSummary() == ["deferred 2 mac", "deferred 2 mac", "unknown_transport 2 mac"])
    }

    @Test
    func `a waiting push does not follow its device to another app, because each app has a badge of its own`() throws {
        for settings in ["", "retryTo: same-app"] {
            var (harness, _) = try harness(settings)
            try harness.feed(register("mac", token: "new", topic: "com.example.Other"))
            harness.advance(to: 10)
            #expect(harness.deliveries.isEmpty && harness.stage.pending.isEmpty)
            #expect(
                harness.outcomes.last?.contains("the device was registered for another app while the push waited")
                    == true
            )
            #expect(try harness.takeSummary() == ["deferred 2 mac", "unregistered 2 mac"])
            try harness.feed(push())
            #expect(harness.takeDeliveries().map(\.app?.topic) == ["com.example.Other"])
        }
    }

    @Test func `under retryTo latest, a waiting push follows its device to another app`() throws {
        var (harness, first) = try harness("retryTo: latest")
        try harness.feed(register("mac", token: "new", topic: "com.example.Other"))
        harness.advance(to: 10)
        let again = try #require(harness.takeDeliveries().first)
        #expect(again.id == first.id && again.app?.topic == "com.example.Other")
        #expect(
            again.text.contains(#""token":"new","headers""#)
                && again.text.contains(#""apns-topic":"com.example.Other""#))
    }

    @Test func `a waiting push whose device is gone ends without asking a transport`() throws {
        var (harness, _) = try harness()
        try harness.feed(unregister("mac"))
        harness.advance(to: 10)
        #expect(harness.deliveries.isEmpty)
        let outcome = try #require(harness.outcomes.last)
        #expect(
            outcome.contains(
                #""outcome":"unregistered","answer":"none","reason":"the device was unregistered while the push waited","#
            ))
        #expect(!outcome.contains("status"))
        #expect(try harness.takeSummary() == ["deferred 2 mac", "unregistered 2 mac"])
        #expect(harness.stage.pending.isEmpty && harness.stage.deadline == nil)
    }

    @Test func `a waiting push does not follow its token to another user's device`() throws {
        var (harness, _) = try harness()
        try harness.feed(register("mac", of: "_bob", token: "old"))
        harness.advance(to: 10)
        #expect(harness.deliveries.isEmpty)
        #expect(try harness.takeSummary().last == "unregistered 2 mac")
    }

    @Test func `the time in an answer for a new token is compared with the registration of the new token`() throws {
        var (harness, _) = try harness()
        harness.advance(to: 5)
        try harness.feed(register("mac", token: "new"))
        harness.advance(to: 10)
        let again = try #require(harness.takeDeliveries().first)
        harness.answer(
            TransportAnswer(again.id, .unregistered, status: 410, since: Instant(microseconds: 3_000_000)))
        harness.advance(to: 11)
        #expect(harness.outcomes.last?.contains(#""registered":"1970-01-01T00:00:05Z""#) == true)
        #expect(
            try harness.takeSummary().last == "unregistered 2 mac",
            "a token that was registered after it became invalid stays")
    }

    @Test func `the next probe of a stopped app ends the held pushes whose devices now have another app`() throws {
        var harness = try DeliverHarness()
        try harness.feed(register("mac"), register("phone"), push(collapseID: nil))
        for delivery in harness.takeDeliveries() { harness.answer(TransportAnswer(delivery.id, .stopped, status: 403)) }
        harness.advance(to: 2)
        try harness.feed(register("mac", token: "n", topic: "com.example.Other"))
        _ = try harness.takeSummary()
        harness.advance(to: 62)
        #expect(harness.deliveries.map(\.id.device) == ["phone"])
        #expect(try harness.takeSummary() == ["unregistered 3 mac"])
    }

    @Test func `at the next probe of a stopped app, held pushes follow their devices to another transport`() throws {
        var harness = try DeliverHarness()
        try harness.feed(register("mac"), register("pad"), register("phone"), push(collapseID: nil))
        for delivery in harness.takeDeliveries() { harness.answer(TransportAnswer(delivery.id, .stopped, status: 403)) }
        harness.advance(to: 2)
        try harness.feed(register("mac", transport: "hook", token: "h"), unregister("pad"))
        _ = try harness.takeSummary()
        harness.advance(to: 62)
        #expect(harness.deliveries.map { [$0.id.device, $0.transport] } == [["phone", "apns"], ["mac", "hook"]])
        #expect(try harness.takeSummary() == ["unregistered 4 pad"])
    }
}
