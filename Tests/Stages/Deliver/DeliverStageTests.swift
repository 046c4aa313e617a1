import PipelineKit
import Testing
import Time

@testable import Deliver

@Suite struct DeliverStageTests {
    private let id = LogIdentity(seed: "bench", name: "pushes")

    @Test func `a push becomes a line for each device, in the order of their names`() throws {
        var bench = try Bench()
        try bench.feed(register("phone"), register("mac", topic: nil), push())
        let ids = ["mac", "phone"].map { id.uuid(position: 3, salt: FNV.hash($0.utf8)).description }
        let rest =
            #""apns-push-type":"alert","apns-priority":"10","apns-collapse-id":"c"},"#
            + #""payload":{"aps":{"alert":"Hi"},"ck":{}},"causes":[{"log":"changes","sequence":17}]}"#
        #expect(
            bench.deliveries.map(\.text) == [
                #"{"notificationID":"n-1","user":"_alice","device":"mac","transport":"apns","token":"t-_alicemac","#
                    + #""headers":{"apns-id":"\#(ids[0])","# + rest,
                #"{"notificationID":"n-1","user":"_alice","device":"phone","transport":"apns","token":"t-_alicephone","#
                    + #""headers":{"apns-id":"\#(ids[1])","apns-topic":"com.example.Notes","# + rest,
            ])
        #expect(bench.deliveries.map(\.id) == [.init(push: 3, device: "mac"), .init(push: 3, device: "phone")])
    }

    @Test func `devices share the memory of the common part of their lines`() throws {
        var bench = try Bench()
        try bench.feed(register("a"), register("b"), register("c", topic: "other"), push())
        let addresses = Set(bench.deliveries.map { $0.rest.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } })
        #expect(bench.deliveries.count == 3 && addresses.count == 1)
        #expect(bench.deliveries.allSatisfy { $0.rest.count > 100 && !$0.head.contains("payload".utf8) })
    }

    @Test func `devices of a topic with its own payload get that payload`() throws {
        var bench = try Bench()
        let payloads =
            #","payloadByTopic":{"com.b":{"aps":{"badge":2},"ck":{}},"unused":{"aps":{},"ck":{}}},"causes":["#
        try bench.feed(
            register("a"), register("b", topic: "com.b"), register("c", topic: "com.b"), register("d", topic: nil),
            push().replacing(#","causes":["#, with: payloads))
        let payload = { (delivery: Delivery) in try member("payload", of: delivery.text) }
        let (all, own) = (#"{"aps":{"alert":"Hi"},"ck":{}}"#, #"{"aps":{"badge":2},"ck":{}}"#)
        #expect(try bench.deliveries.map(payload) == [all, own, own, all])
        #expect(bench.deliveries.allSatisfy { !$0.text.contains("payloadByTopic") && !$0.text.contains("unused") })
        let addresses = bench.deliveries.map { $0.rest.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } }
        #expect(addresses[0] == addresses[3] && addresses[1] == addresses[2])
    }

    @Test func `the complete payload of a pruned push goes along, shared by all devices`() throws {
        var bench = try Bench()
        let whole = #"{"aps":{"alert":"Hi, all of you"},"ck":{}}"#
        try bench.feed(
            register("a"), register("b"), push().replacing(#","causes":["#, with: #","unpruned":\#(whole),"causes":["#),
            push())
        #expect(
            bench.deliveries.map { $0.unpruned.map { String(decoding: $0, as: UTF8.self) } } == [
                whole, whole, nil, nil,
            ])
        #expect(bench.deliveries.allSatisfy { !$0.text.contains("all of you") })
        let addresses = bench.deliveries.prefix(2).map {
            $0.unpruned?.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
        }
        #expect(addresses[0] == addresses[1])
    }

    @Test func `an answer becomes an outcome`() throws {
        var bench = try Bench()
        try bench.feed(register("mac"), push())
        let delivery = try #require(bench.deliveries.first)
        bench.answer(TransportAnswer(delivery.id, .failed, status: 410, reason: "Gone \"for good\"", attempts: 2))
        let apnsID = id.uuid(position: 2, salt: FNV.hash("mac".utf8))
        #expect(
            bench.outcomes == [
                #"{"type":"outcome","push":2,"notificationID":"n-1","user":"_alice","device":"mac","transport":"apns","#
                    + #""apns-id":"\#(apnsID)","outcome":"failed","status":410,"reason":"Gone \"for good\"","#
                    + #""attempts":2,"causes":[{"log":"changes","sequence":17}]}"#
            ])
    }

    @Test func `the device that made the change gets no push but an outcome`() throws {
        var bench = try Bench()
        try bench.feed(register("mac"), register("phone"))
        try bench.feed(push(origin: #"{"user":"_alice","device":"mac"}"#))
        #expect(bench.deliveries.map(\.id.device) == ["phone"])
        bench.acceptAll()
        #expect(try bench.outcomes.map { try member("outcome", of: $0) } == ["excluded_origin", "accepted"])
        #expect(try bench.outcomes.map { try member("device", of: $0) } == ["mac", "phone"])
    }

    @Test(arguments: [#"{"user":"_bob","device":"mac"}"#, #"{"user":"_alice"}"#, "null", #"{"device":"mac"}"#])
    func `an origin that names no device of the user excludes no device`(origin: String) throws {
        var bench = try Bench()
        try bench.feed(register("mac"), push(origin: origin))
        #expect(bench.deliveries.map(\.id.device) == ["mac"])
    }

    @Test func `a push to a user without a device ends as no_device`() throws {
        var bench = try Bench()
        try bench.feed(register("mac", container: "iCloud.Other"), push(), push(to: "_bob"))
        #expect(bench.deliveries.isEmpty)
        #expect(
            bench.outcomes.first
                == #"{"type":"outcome","push":2,"notificationID":"n-1","user":"_alice","outcome":"no_device","#
                + #""causes":[{"log":"changes","sequence":17}]}"#)
        #expect(try bench.outcomes.map { try member("push", of: $0) } == ["2", "3"])
    }

    @Test func `a push to a device of an unknown transport ends as unknown_transport`() throws {
        var bench = try Bench()
        try bench.feed(register("mac", transport: "pigeon"), register("phone", transport: "hook"), push())
        bench.acceptAll()
        #expect(try bench.outcomes.map { try member("outcome", of: $0) } == ["unknown_transport", "accepted"])
        #expect(bench.deliveries.map(\.transport) == ["hook"])
    }

    @Test func `an outcome is recorded when its answer comes, independently of earlier pushes`() throws {
        var bench = try Bench()
        try bench.feed(register("mac"), register("phone"), push(), push())
        for (count, delivery) in bench.deliveries.reversed().enumerated() {
            #expect(bench.outcomes.count == count)
            bench.answer(TransportAnswer(delivery.id, .accepted))
        }
        let story = ["accepted 4 phone", "accepted 4 mac", "accepted 3 phone", "accepted 3 mac"]
        #expect(try bench.takeStory() == story)
    }

    @Test func `the outcome of a device that needs no transport follows that of the device before it`() throws {
        var bench = try Bench()
        try bench.feed(
            register("a", transport: "pigeon"), register("mac"), register("mouse", transport: "pigeon"),
            register("phone"), push())
        #expect(try bench.takeStory() == ["unknown_transport 5 a"])
        for delivery in bench.deliveries.reversed() { bench.answer(TransportAnswer(delivery.id, .accepted)) }
        #expect(try bench.takeStory() == ["accepted 5 phone", "accepted 5 mac", "unknown_transport 5 mouse"])
    }

    @Test func `each push and device gets one outcome, even if the transport answers twice`() throws {
        var bench = try Bench()
        try bench.feed(register("mac"), register("phone"), push(), push())
        bench.acceptAll()
        bench.acceptAll()
        bench.answer(TransportAnswer(.init(push: 99, device: "mac"), .accepted))
        bench.answer(TransportAnswer(.init(push: 3, device: "watch"), .accepted))
        let ends = try bench.outcomes.map { try "\(member("push", of: $0)!) \(member("device", of: $0)!)" }
        #expect(ends == ["3 mac", "3 phone", "4 mac", "4 phone"])
    }

    @Test func `a push in flight keeps the device that it was sent to`() throws {
        var bench = try Bench()
        try bench.feed(register("mac"), push(), register("mac", transport: "hook"), unregister("mac"))
        bench.acceptAll()
        #expect(try bench.outcomes.map { try member("transport", of: $0) } == ["apns"])
    }

    @Test func `a new stage that gets the same events sends the same pushes with the same ids`() throws {
        let events = [
            register("phone"), register("mac"), push(), register("phone", of: "_bob", token: "t-_alicephone"),
            push(), push(to: "_bob"), unregister("mac"), push(), register("Ünicode"), push(),
        ]
        var (first, second) = (try Bench(), try Bench())
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
        var bench = try Bench()
        try bench.feed(#"{"type":"not_matched","count":3}"#, #"{"type":"coalesced"}"#, #"{"type":"new.thing"}"#, "{}")
        #expect(bench.outcomes.isEmpty && bench.rejections.isEmpty && bench.deliveries.isEmpty)
    }
}
