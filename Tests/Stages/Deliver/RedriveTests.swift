import PipelineKit
import Testing
import Time

@testable import Deliver

/// A redrive sends an earlier push to one device again.
@Suite struct RedriveTests {
    private func harness(_ events: String..., settings: String = "") throws -> DeliverHarness {
        var harness = try DeliverHarness(settings: "transports: {apns: {use: file}}\n" + settings)
        for event in [register("mac"), register("pad")] + events { try harness.feed(event) }
        return harness
    }

    private func deferred(_ delivery: Delivery) -> TransportAnswer {
        TransportAnswer(
            delivery.id, .deferred, status: 503, reason: "Shutdown", until: Instant(microseconds: 100_000_000))
    }

    @Test func `a push is redriven to one device with a new apns-id`() throws {
        var harness = try harness(push())
        let first = try #require(harness.takeDeliveries().first { $0.id.device == "mac" })
        try harness.feed(redrive(push(), of: 3))
        let again = harness.takeDeliveries()
        #expect(again.map(\.id) == [.init(push: 4, device: "mac")])
        #expect(again[0].rest == first.rest && again[0].head != first.head)
        #expect(again[0].text.contains(#""payload":{"aps":{"alert":"Hi"},"ck":{}}"#))
    }

    @Test func `the outcome of a redriven push names the original push`() throws {
        var harness = try harness()
        try harness.feed(redrive(push(), of: 17))
        harness.acceptAll()
        let outcome = try #require(harness.outcomes.first)
        #expect(
            outcome.hasPrefix(
                #"{"type":"outcome","push":3,"redriveOf":{"log":"pushes","sequence":17},"notificationID":"n-1","#))
        #expect(outcome.contains(#""device":"mac""#) && outcome.contains(#""outcome":"accepted","attempts":1"#))
    }

    @Test func `a push for a device that is gone is not redriven, not even to other devices`() throws {
        var harness = try harness(unregister("mac"))
        try harness.feed(redrive(push(), of: 1))
        #expect(harness.deliveries.isEmpty && harness.outcomes.count == 1)
        #expect(harness.outcomes[0].contains(#""redriveOf":{"log":"pushes","sequence":1}"#))
        #expect(try harness.takeSummary() == ["no_device 4"])
    }

    @Test func `a redriven push is also sent to the device that made the change`() throws {
        var harness = try harness()
        try harness.feed(redrive(push(origin: #"{"user":"_alice","device":"mac"}"#)))
        #expect(harness.takeDeliveries().map(\.id.device) == ["mac"])
    }

    @Test func `a redriven push that has expired is not sent`() throws {
        var harness = try harness()
        try harness.feed(redrive(push(expiration: 1)))
        #expect(harness.deliveries.isEmpty)
        #expect(try harness.takeSummary() == ["expired 3 mac"])
    }

    @Test func `a redriven push waits while its app is stopped`() throws {
        var harness = try harness(push())
        for delivery in harness.takeDeliveries() { harness.answer(TransportAnswer(delivery.id, .stopped)) }
        harness.advance(to: 2)
        try harness.feed(redrive(push(collapseID: nil), of: 3))
        #expect(harness.deliveries.isEmpty)
        #expect(try harness.takeSummary().suffix(2) == ["app.stopped", "held 4 mac"])
    }

    @Test func `a redriven push does not replace a waiting push with its collapse ID`() throws {
        var harness = try harness(push())
        for delivery in harness.takeDeliveries() { harness.answer(deferred(delivery)) }
        try harness.feed(redrive(push(), of: 1))
        harness.acceptAll()
        #expect(try harness.takeSummary() == ["deferred 3 mac", "deferred 3 pad", "accepted 4 mac"])
        #expect(harness.stage.pending.count == 2)
    }

    @Test func `a redriven push ends if it would have to wait while another push with its collapse ID waits`() throws {
        var harness = try harness(push())
        for delivery in harness.takeDeliveries() { harness.answer(deferred(delivery)) }
        try harness.feed(redrive(push(), of: 1))
        for delivery in harness.takeDeliveries() { harness.answer(deferred(delivery)) }
        #expect(
            harness.outcomes.last?.contains(
                #""superseded","answer":"deferred","by":3,"status":503,"reason":"Shutdown""#)
                == true)
        #expect(harness.stage.pending.count == 2)
    }

    @Test func `a new push replaces a waiting redriven push`() throws {
        var harness = try harness()
        try harness.feed(redrive(push(), of: 1))
        for delivery in harness.takeDeliveries() { harness.answer(deferred(delivery)) }
        try harness.feed(push())
        harness.acceptAll()
        #expect(
            try harness.takeSummary() == ["deferred 3 mac", "superseded 3 mac", "accepted 4 mac", "accepted 4 pad"])
    }

    @Test(arguments: [
        (redrive("7"), "field.type", "push"), (redrive("{}"), "field.missing", "push.container"),
        (redrive(push(to: "_bob")), "field.value", "push.user"),
        (redrive(push()).replacing("\"mac\"", with: "7"), "field.type", "device"),
        (redrive(push()).replacing("redriveOf", with: "of"), "field.missing", "redriveOf"),
        (
            redrive(push()).replacing("\"apns-priority\"", with: "\"apns-id\""), "field.unexpected",
            "push.headers.apns-id"
        ),
    ])
    func `an invalid redrive becomes a dead letter with code and path`(
        event: String, code: String, path: String
    ) throws {
        var harness = try harness()
        try harness.feed(event)
        #expect(harness.rejections.map(\.code) == [code] && harness.rejections.map(\.path) == [path])
        #expect(harness.deliveries.isEmpty && harness.outcomes.isEmpty)
    }
}
