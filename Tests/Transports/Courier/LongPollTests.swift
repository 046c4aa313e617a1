import Foundation
import PipelineKit
import Testing

@testable import TransportCourier

@Suite struct LongPollTests {
    private let mac = Device("mac")
    private let phone = Device("phone")

    @Test func `a poll that waits gets the payload of the next notification unchanged`() async throws {
        let rig = try await CourierRig()
        try rig.register(mac)
        async let reply = rig.poll(mac)
        try await rig.waitForPolls(1)
        let answers = try await rig.deliver(rig.push("Hi", to: mac))
        #expect(answers.map(\.outcome) == [.accepted])
        let got = try await reply
        #expect(got.status == 200)
        #expect(got.body == #"{"aps":{"alert":"Hi"},"ck":{"nid":"n-Hi"}}"#)
        #expect(got.http.value(forHTTPHeaderField: "Content-Type") == "application/json; charset=utf-8")
        try await rig.stop()
    }

    @Test func `polls get one notification each, in order and never twice, even over restarts`() async throws {
        let rig = try await CourierRig("pollTimeout: 100ms")
        try rig.register(mac)
        for text in ["one", "two", "three"] { try await rig.deliver(rig.push(text, to: mac)) }
        #expect(try await rig.poll(mac).body.contains("one"))
        try await rig.restart()
        #expect(try await rig.send("/courier/\(mac.token)", "POST").body.contains("two"))
        try await rig.restart { try rig.removeStore() }
        #expect(try await rig.poll(mac).body.contains("three"))
        let last = try await rig.poll(mac)
        #expect(last.status == 200 && last.body.isEmpty)
        try await rig.stop()
    }

    @Test func `a poll gets only its device's notifications, and an inbox has those of every device`() async throws {
        let rig = try await CourierRig("pollTimeout: 100ms")
        try rig.register(mac)
        try rig.register(phone)
        try await rig.deliver(rig.push("both", to: mac, phone))
        try await rig.deliver(rig.push("phone", to: phone))
        #expect(try await rig.poll(mac).body.contains("both"))
        #expect(try await rig.poll(mac).body.isEmpty)
        #expect(try await rig.poll(phone).body.contains("both"))
        #expect(try await rig.poll(phone).body.contains("phone"))
        #expect(try await rig.fetch(mac).alerts == ["both", "phone"], "all devices of a user share one inbox")
        try await rig.stop()
    }

    @Test func `of several polls of one device, each gets a different notification`() async throws {
        let rig = try await CourierRig()
        try rig.register(mac)
        async let first = rig.poll(mac)
        async let second = rig.poll(mac)
        try await rig.waitForPolls(2)
        try await rig.deliver(rig.push("a", to: mac) + rig.push("b", to: mac))
        let bodies = try await [first.body, second.body].sorted()
        #expect(bodies[0].contains(#""a""#) && bodies[1].contains(#""b""#))
        try await rig.stop()
    }

    @Test func `an unknown token is refused, unless its registration comes soon`() async throws {
        let rig = try await CourierRig("pollTimeout: 100ms")
        let unknown = try await rig.poll(phone)
        #expect(unknown.status == 403)
        #expect(unknown.body.contains("token.unknown"))
        async let early = rig.poll(mac)
        await rig.waitForClockReads(2)
        try rig.register(mac)
        #expect(try await early.status == 200)
        #expect(try await rig.send("/courier/notes").status == 403)
        try await rig.stop()
    }

    @Test func `an unregistered device's token is refused, and its pushes wait for its new token`() async throws {
        let rig = try await CourierRig("pollTimeout: 100ms")
        try rig.register(mac)
        try await rig.deliver(rig.push("kept", to: mac))
        try rig.unregister(mac)
        #expect(try await rig.poll(mac).status == 403)
        var renewed = mac
        renewed.token = String(repeating: "a", count: 64)
        try rig.register(renewed)
        #expect(try await rig.poll(renewed).body.contains("kept"))
        try await rig.stop()
    }

    @Test func `a token belongs to the device that registered it last`() async throws {
        let rig = try await CourierRig("pollTimeout: 100ms")
        var newOwner = Device("phone", of: "_bob")
        newOwner.token = mac.token
        try rig.register(mac)
        try await rig.deliver(rig.push("alice's", to: mac))
        try rig.register(newOwner)
        #expect(try await rig.poll(newOwner).body.isEmpty)
        #expect(try await rig.fetch(newOwner).notifications.isEmpty)
        try await rig.stop()
    }

    @Test func `a client that disconnected takes no notification`() async throws {
        let rig = try await CourierRig()
        try rig.register(mac)
        let poll = Task { try await rig.poll(mac) }
        try await rig.waitForPolls(1)
        poll.cancel()
        try await rig.waitForPolls(0)
        try await rig.deliver(rig.push("still here", to: mac))
        #expect(try await rig.poll(mac).body.contains("still here"))
        try await rig.stop()
    }

    @Test func `one poll too many ends the device's oldest poll without a notification`() async throws {
        let rig = try await CourierRig()
        try rig.register(mac)
        async let oldest = rig.poll(mac)
        try await rig.waitForPolls(1)
        let others = (0..<CourierLimits.pollsPerDeviceMax).map { _ in Task { try await rig.poll(mac) } }
        #expect(try await oldest.body.isEmpty)
        try await rig.stop()
        for other in others { #expect(try await other.value.body.isEmpty, "closing ends polls without a notification") }
    }

    @Test func `without the log of pushes, a device is registered by its first push`() async throws {
        let rig = try await CourierRig(hasPushesLog: false)
        async let reply = rig.poll(mac)
        try await rig.waitForPolls(1)
        try await rig.deliver(rig.push("Hi", to: mac))
        #expect(try await reply.body.contains("Hi"))
        #expect(try await rig.fetch(mac).alerts == ["Hi"])
        #expect(try await rig.send("/courier/\(phone.token)/notifications").status == 403)
        try await rig.stop()
    }

    @Test(arguments: [false, true])
    func `an expired push is given to no poll, and stays in the inbox`(isRebuilt: Bool) async throws {
        let rig = try await CourierRig()
        try rig.register(mac)
        let now = rig.clock.withLock { $0.microseconds / 1_000_000 }
        try await rig.deliver(rig.push("short", to: mac, expiration: "\(now + 60)"))
        try await rig.deliver(rig.push("long", to: mac, expiration: "\(now + 3_600)"))
        try await rig.deliver(rig.push("at once", to: mac, expiration: "0"))
        rig.advanceClock(by: .seconds(60))
        if isRebuilt { try await rig.restart { try rig.removeStore() } }
        #expect(try await rig.poll(mac).body.contains("long"))
        try await rig.deliver(rig.push("last", to: mac))
        #expect(try await rig.poll(mac).body.contains("last"))
        #expect(try await rig.fetch(mac).alerts == ["short", "long", "at once", "last"])
        try await rig.stop()
    }

    @Test func `a push with the expiration 0 is given to a poll that already waits`() async throws {
        let rig = try await CourierRig()
        try rig.register(mac)
        async let reply = rig.poll(mac)
        try await rig.waitForPolls(1)
        try await rig.deliver(rig.push("at once", to: mac, expiration: "0"))
        #expect(try await reply.body.contains("at once"))
        try await rig.stop()
    }

    @Test func `a push without an app, with a bad token or to a closed courier is not accepted`() async throws {
        let rig = try await CourierRig()
        var bad = mac
        bad.token = "mac-token"
        let push = try rig.push("x", to: mac)[0]
        let appless = Delivery(id: push.id, transport: push.transport, head: push.head, rest: push.rest)
        let answers = try await rig.deliver([appless] + rig.push("y", to: bad))
        #expect(answers.map(\.outcome) == [.failed, .unknownAddress])
        await (try rig.transport).close()
        #expect(try await rig.deliver(rig.push("z", to: mac)).map(\.reason) == ["the transport is not open"])
    }
}
