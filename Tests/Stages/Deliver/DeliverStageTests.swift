import PipelineKit
import Testing
import Time

@testable import Deliver

@Suite struct DeliverStageTests {
    private let id = LogIdentity(seed: "harness", name: "pushes")

    @Test func `a push becomes a line for each device, in the order of the devices' names`() throws {
        var harness = try DeliverHarness()
        try harness.feed(register("phone"), register("mac", topic: nil), push())
        let ids = ["mac", "phone"].map { id.uuid(position: 3, salt: FNV.hash($0.utf8)).description }
        let rest =
            #""apns-push-type":"alert","apns-priority":"10","apns-collapse-id":"c"},"#
            + #""payload":{"aps":{"alert":"Hi"},"ck":{}},"causes":[{"log":"changes","sequence":17}]}"#
        #expect(
            harness.deliveries.map(\.text) == [
                #"{"notificationID":"n-1","user":"_alice","device":"mac","transport":"apns","token":"t-_alicemac","#
                    + #""headers":{"apns-id":"\#(ids[0])","# + rest,
                #"{"notificationID":"n-1","user":"_alice","device":"phone","transport":"apns","token":"t-_alicephone","#
                    + #""headers":{"apns-id":"\#(ids[1])","apns-topic":"com.example.Notes","# + rest,
            ])
        #expect(harness.deliveries.map(\.id) == [.init(push: 3, device: "mac"), .init(push: 3, device: "phone")])
    }

    @Test func `the lines for the devices share the memory of their common part`() throws {
        var harness = try DeliverHarness()
        try harness.feed(register("a"), register("b"), register("c", topic: "other"), push())
        let addresses = Set(harness.deliveries.map { $0.rest.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } })
        #expect(harness.deliveries.count == 3 && addresses.count == 1)
        #expect(harness.deliveries.allSatisfy { $0.rest.count > 100 && !$0.head.contains("payload".utf8) })
    }

    @Test func `devices of a topic with its own payload get that payload`() throws {
        var harness = try DeliverHarness()
        let payloads =
            #","payloadByTopic":{"com.b":{"aps":{"badge":2},"ck":{}},"unused":{"aps":{},"ck":{}}},"causes":["#
        try harness.feed(
            register("a"), register("b", topic: "com.b"), register("c", topic: "com.b"), register("d", topic: nil),
            push().replacing(#","causes":["#, with: payloads))
        let payload = { (delivery: Delivery) in try member("payload", of: delivery.text) }
        let (all, own) = (#"{"aps":{"alert":"Hi"},"ck":{}}"#, #"{"aps":{"badge":2},"ck":{}}"#)
        #expect(try harness.deliveries.map(payload) == [all, own, own, all])
        #expect(harness.deliveries.allSatisfy { !$0.text.contains("payloadByTopic") && !$0.text.contains("unused") })
        let addresses = harness.deliveries.map { $0.rest.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } }
        #expect(addresses[0] == addresses[3] && addresses[1] == addresses[2])
    }

    @Test func `the deliveries of a pruned push share its complete payload`() throws {
        var harness = try DeliverHarness()
        let whole = #"{"aps":{"alert":"Hi, all of you"},"ck":{}}"#
        try harness.feed(
            register("a"), register("b"), push().replacing(#","causes":["#, with: #","unpruned":\#(whole),"causes":["#),
            push())
        #expect(
            harness.deliveries.map { $0.unpruned.map { String(decoding: $0, as: UTF8.self) } } == [
                whole, whole, nil, nil,
            ])
        #expect(harness.deliveries.allSatisfy { !$0.text.contains("all of you") })
        let addresses = harness.deliveries.prefix(2).map {
            $0.unpruned?.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
        }
        #expect(addresses[0] == addresses[1])
    }

    @Test func `another attempt of a pruned push has its complete payload, also after a restart`() throws {
        for restarts in [false, true] {
            var harness = try DeliverHarness()
            let whole = #"{"aps":{"alert":"Hi, all of you"},"ck":{}}"#
            try harness.feed(
                register("a"), push().replacing(#","causes":["#, with: #","unpruned":\#(whole),"causes":["#))
            let first = try #require(harness.takeDeliveries().first)
            harness.answer(
                TransportAnswer(first.id, .deferred, status: 503, until: Instant(microseconds: 10_000_000)))
            if restarts { harness = try harness.restarted(settings: "transports: {apns: {use: file}}") }
            harness.advance(to: 10)
            let again = try #require(harness.takeDeliveries().first)
            #expect(again.unpruned.map { String(decoding: $0, as: UTF8.self) } == whole, "restarts: \(restarts)")
        }
    }

    @Test func `the answer to a push becomes its outcome`() throws {
        var harness = try DeliverHarness()
        try harness.feed(register("mac"), push())
        let delivery = try #require(harness.deliveries.first)
        harness.answer(TransportAnswer(delivery.id, .failed, status: 410, reason: "Gone \"for good\"", attempts: 2))
        let apnsID = id.uuid(position: 2, salt: FNV.hash("mac".utf8))
        #expect(
            harness.outcomes == [
                #"{"type":"outcome","push":2,"notificationID":"n-1","user":"_alice","device":"mac","transport":"apns","#
                    + #""apns-id":"\#(apnsID)","outcome":"failed","status":410,"reason":"Gone \"for good\"","#
                    + #""attempts":2,"causes":[{"log":"changes","sequence":17}]}"#
            ])
    }

    @Test func `a push is not sent to the device that made the change, and ends there as excluded_origin`() throws {
        var harness = try DeliverHarness()
        try harness.feed(register("mac"), register("phone"))
        try harness.feed(push(origin: #"{"user":"_alice","device":"mac"}"#))
        #expect(harness.deliveries.map(\.id.device) == ["phone"])
        harness.acceptAll()
        #expect(try harness.outcomes.map { try member("outcome", of: $0) } == ["excluded_origin", "accepted"])
        #expect(try harness.outcomes.map { try member("device", of: $0) } == ["mac", "phone"])
    }

    @Test(arguments: [#"{"user":"_bob","device":"mac"}"#, #"{"user":"_alice"}"#, "null", #"{"device":"mac"}"#])
    func `an origin that names no device of the user excludes no device`(origin: String) throws {
        var harness = try DeliverHarness()
        try harness.feed(register("mac"), push(origin: origin))
        #expect(harness.deliveries.map(\.id.device) == ["mac"])
    }

    @Test func `a push to a user without a device ends as no_device`() throws {
        var harness = try DeliverHarness()
        try harness.feed(register("mac", container: "iCloud.Other"), push(), push(to: "_bob"))
        #expect(harness.deliveries.isEmpty)
        #expect(
            harness.outcomes.first
                == #"{"type":"outcome","push":2,"notificationID":"n-1","user":"_alice","outcome":"no_device","#
                + #""causes":[{"log":"changes","sequence":17}]}"#)
        #expect(try harness.outcomes.map { try member("push", of: $0) } == ["2", "3"])
    }

    @Test func `a push to a device of an unknown transport ends as unknown_transport`() throws {
        var harness = try DeliverHarness()
        try harness.feed(register("mac", transport: "pigeon"), register("phone", transport: "hook"), push())
        harness.acceptAll()
        #expect(try harness.outcomes.map { try member("outcome", of: $0) } == ["unknown_transport", "accepted"])
        #expect(harness.deliveries.map(\.transport) == ["hook"])
    }

    @Test func `the operator is told of a transport that the pipeline does not have, once for each app`() throws {
        var harness = try DeliverHarness()
        try harness.feed(register("mac", transport: "anps"), register("phone", transport: "anps"), register("pad"))
        let app = "anps: iCloud.Notes development com.example.Notes: "
        #expect(
            harness.operatorMessages == [
                "\(app)the pipeline has no such transport, but device mac registered with it; did you mean \"apns\"?"
            ])
        try harness.feed(register("mac", transport: "anps", topic: "com.example.Other"))
        #expect(harness.operatorMessages.count == 2)
    }

    @Test func `an outcome is recorded when its answer comes, independently of earlier pushes`() throws {
        var harness = try DeliverHarness()
        try harness.feed(register("mac"), register("phone"), push(), push())
        for (count, delivery) in harness.deliveries.reversed().enumerated() {
            #expect(harness.outcomes.count == count)
            harness.answer(TransportAnswer(delivery.id, .accepted))
        }
        let summary = ["accepted 4 phone", "accepted 4 mac", "accepted 3 phone", "accepted 3 mac"]
        #expect(try harness.takeSummary() == summary)
    }

    @Test func `an outcome that needs no transport's answer waits for the outcome of the previous device`() throws {
        var harness = try DeliverHarness()
        try harness.feed(
            register("a", transport: "pigeon"), register("mac"), register("mouse", transport: "pigeon"),
            register("phone"), push())
        #expect(try harness.takeSummary() == ["unknown_transport 5 a"])
        for delivery in harness.deliveries.reversed() { harness.answer(TransportAnswer(delivery.id, .accepted)) }
        #expect(try harness.takeSummary() == ["accepted 5 phone", "accepted 5 mac", "unknown_transport 5 mouse"])
    }

    @Test func `each delivery gets one outcome, and answers without an open delivery are ignored`() throws {
        var harness = try DeliverHarness()
        try harness.feed(register("mac"), register("phone"), push(), push())
        harness.acceptAll()
        harness.acceptAll()
        harness.answer(TransportAnswer(.init(push: 99, device: "mac"), .accepted))
        harness.answer(TransportAnswer(.init(push: 3, device: "watch"), .accepted))
        let ends = try harness.outcomes.map { try "\(member("push", of: $0)!) \(member("device", of: $0)!)" }
        #expect(ends == ["3 mac", "3 phone", "4 mac", "4 phone"])
    }

    @Test func `a push in flight keeps the registration that it was sent to`() throws {
        var harness = try DeliverHarness()
        try harness.feed(register("mac"), push(), register("mac", transport: "hook"), unregister("mac"))
        harness.acceptAll()
        #expect(try harness.outcomes.map { try member("transport", of: $0) } == ["apns"])
    }

    @Test func `a new stage that gets the same events sends the same pushes with the same ids`() throws {
        let events = [
            register("phone"), register("mac"), push(), register("phone", of: "_bob", token: "t-_alicephone"),
            push(), push(to: "_bob"), unregister("mac"), push(), register("Ünicode"), push(),
        ]
        var (first, second) = (try DeliverHarness(), try DeliverHarness())
        for event in events { try first.feed(event) }
        for event in events {
            try second.feed(event)
            second.acceptAll()
        }
        #expect(first.deliveries == second.deliveries)
        #expect(first.deliveries.count == 5)
        #expect(Set(try first.deliveries.map { try member("headers", of: $0.text) }).count == 5)
    }

    @Test func `events that deliver does not need are ignored`() throws {
        var harness = try DeliverHarness()
        try harness.feed(#"{"type":"not_matched","count":3}"#, #"{"type":"coalesced"}"#, #"{"type":"new.thing"}"#, "{}")
        #expect(harness.outcomes.isEmpty && harness.rejections.isEmpty && harness.deliveries.isEmpty)
    }
}
