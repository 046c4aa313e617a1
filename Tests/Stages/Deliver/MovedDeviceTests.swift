import PipelineKit
import Testing
import Time

@testable import Deliver

/// A waiting push goes to the present registration of its device.
@Suite struct MovedDeviceTests {
    /// A push that waits until second 10.
    private func bench(_ settings: String = "") throws -> (Bench, Delivery) {
        var bench = try Bench(transports: "transports: {apns: {use: file}, hook: {use: webhook}}\n" + settings)
        try bench.feed(register("mac", token: "old"), push())
        let delivery = try #require(bench.takeDeliveries().first)
        bench.answer(
            TransportAnswer(
                delivery.id, .deferred, status: 503, reason: "Shutdown", until: Instant(microseconds: 10_000_000)))
        return (bench, delivery)
    }

    @Test func `it has the newly registered token and the same apns-id`() throws {
        var (bench, first) = try bench()
        try bench.feed(register("mac", token: "new"))
        bench.advance(to: 10)
        let again = try #require(bench.takeDeliveries().first)
        #expect(again.text == first.text.replacing(#""token":"old""#, with: #""token":"new""#))
        bench.answer(
            TransportAnswer(again.id, .deferred, status: 503, until: Instant(microseconds: 20_000_000)))
        let restarted = try bench.restarted(transports: "transports: {apns: {use: file}, hook: {use: webhook}}")
        #expect(restarted.state("pending") == bench.state("pending"))
        bench.advance(to: 20)
        #expect(bench.takeDeliveries() == [again])
    }

    @Test func `a log of an earlier version continues with the first token`() throws {
        var (bench, first) = try bench("retryTo: first")
        try bench.feed(register("mac", token: "new"), unregister("mac"))
        bench.advance(to: 10)
        #expect(bench.takeDeliveries() == [first])
        #expect(DeliverSettings.changedDefaults.contains(ChangedDefault("retryTo", before: "first", now: "same-app")))
    }

    @Test func `it follows its device to another transport, even to one without topics`() throws {
        var (bench, first) = try bench()
        try bench.feed(register("mac", transport: "hook", token: "h", topic: nil))
        bench.advance(to: 10)
        let again = try #require(bench.takeDeliveries().first)
        #expect(again.transport == "hook" && again.id == first.id && again.app?.topic == nil)
        #expect(first.text.contains(#","apns-topic":"com.example.Notes""#))
        #expect(!again.text.contains("apns-topic") && again.text.contains(#""transport":"hook","token":"h","#))
        try bench.feed(register("mac", transport: "pigeon"))
        bench.answer(TransportAnswer(again.id, .deferred, until: Instant(microseconds: 20_000_000)))
        bench.advance(to: 20)
        #expect(try bench.takeStory() == ["deferred 2 mac", "deferred 2 mac", "unknown_transport 2 mac"])
    }

    @Test func `it does not follow its device to another app, which has another badge`() throws {
        for settings in ["", "retryTo: same-app"] {
            var (bench, _) = try bench(settings)
            try bench.feed(register("mac", token: "new", topic: "com.example.Other"))
            bench.advance(to: 10)
            #expect(bench.deliveries.isEmpty && bench.stage.pending.isEmpty)
            #expect(
                bench.outcomes.last?.contains("the device was registered for another app while the push waited") == true
            )
            #expect(try bench.takeStory() == ["deferred 2 mac", "unregistered 2 mac"])
            try bench.feed(push())
            #expect(bench.takeDeliveries().map(\.app?.topic) == ["com.example.Other"])
        }
    }

    @Test func `under retryTo latest it follows its device to another app`() throws {
        var (bench, first) = try bench("retryTo: latest")
        try bench.feed(register("mac", token: "new", topic: "com.example.Other"))
        bench.advance(to: 10)
        let again = try #require(bench.takeDeliveries().first)
        #expect(again.id == first.id && again.app?.topic == "com.example.Other")
        #expect(
            again.text.contains(#""token":"new","headers""#)
                && again.text.contains(#""apns-topic":"com.example.Other""#))
    }

    @Test func `it ends when its device is gone, without asking a transport`() throws {
        var (bench, _) = try bench()
        try bench.feed(unregister("mac"))
        bench.advance(to: 10)
        #expect(bench.deliveries.isEmpty)
        let outcome = try #require(bench.outcomes.last)
        #expect(
            outcome.contains(
                #""outcome":"unregistered","answer":"none","reason":"the device was unregistered while the push waited","#
            ))
        #expect(!outcome.contains("status"))
        #expect(try bench.takeStory() == ["deferred 2 mac", "unregistered 2 mac"])
        #expect(bench.stage.pending.isEmpty && bench.stage.deadline == nil)
    }

    @Test func `a token that moves to another user's device takes no push along`() throws {
        var (bench, _) = try bench()
        try bench.feed(register("mac", of: "_bob", token: "old"))
        bench.advance(to: 10)
        #expect(bench.deliveries.isEmpty)
        #expect(try bench.takeStory().last == "unregistered 2 mac")
    }

    @Test func `the answer for a new token is compared with the time of its registration`() throws {
        var (bench, _) = try bench()
        bench.advance(to: 5)
        try bench.feed(register("mac", token: "new"))
        bench.advance(to: 10)
        let again = try #require(bench.takeDeliveries().first)
        bench.answer(
            TransportAnswer(again.id, .unregistered, status: 410, since: Instant(microseconds: 3_000_000)))
        bench.advance(to: 11)
        #expect(bench.outcomes.last?.contains(#""registered":"1970-01-01T00:00:05Z""#) == true)
        #expect(try bench.takeStory().last == "unregistered 2 mac", "a token that was registered after that stays")
    }

    @Test func `held pushes for devices that have changed their app end at the app's next probe`() throws {
        var bench = try Bench()
        try bench.feed(register("mac"), register("phone"), push(collapseID: nil))
        for delivery in bench.takeDeliveries() { bench.answer(TransportAnswer(delivery.id, .stopped, status: 403)) }
        bench.advance(to: 2)
        try bench.feed(register("mac", token: "n", topic: "com.example.Other"))
        _ = try bench.takeStory()
        bench.advance(to: 62)
        #expect(bench.deliveries.map(\.id.device) == ["phone"])
        #expect(try bench.takeStory() == ["unregistered 3 mac"])
    }

    @Test func `held pushes leave a stopped app with their devices at its next probe`() throws {
        var bench = try Bench()
        try bench.feed(register("mac"), register("pad"), register("phone"), push(collapseID: nil))
        for delivery in bench.takeDeliveries() { bench.answer(TransportAnswer(delivery.id, .stopped, status: 403)) }
        bench.advance(to: 2)
        try bench.feed(register("mac", transport: "hook", token: "h"), unregister("pad"))
        _ = try bench.takeStory()
        bench.advance(to: 62)
        #expect(bench.deliveries.map { [$0.id.device, $0.transport] } == [["phone", "apns"], ["mac", "hook"]])
        #expect(try bench.takeStory() == ["unregistered 4 pad"])
    }
}
