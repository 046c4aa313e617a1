import JSON
import PipelineKit
import Testing

@testable import Deliver

@Suite struct DeviceRegistryTests {
    private func tokens(_ harness: DeliverHarness) throws -> [String?] {
        try harness.deliveries.map { try member("token", of: $0.text) }
    }

    @Test func `registering a device again replaces its earlier registration`() throws {
        var harness = try DeliverHarness()
        try harness.feed(register("mac", token: "old"), register("mac", transport: "hook", token: "new"), push())
        #expect(try tokens(harness) == ["new"])
        #expect(harness.deliveries.map(\.transport) == ["hook"])
    }

    @Test func `an unregistered device gets no more pushes`() throws {
        var harness = try DeliverHarness()
        try harness.feed(register("mac"), push(), unregister("mac"), push(), unregister("mac"))
        #expect(harness.deliveries.map(\.id.push) == [2])
        harness.acceptAll()
        #expect(try harness.outcomes.map { try member("outcome", of: $0) } == ["no_device", "accepted"])
        #expect(harness.rejections.isEmpty)
    }

    @Test func `a token belongs to the device that registered it last`() throws {
        var harness = try DeliverHarness()
        try harness.feed(register("phone", token: "one"), register("mac"))
        try harness.feed(register("phone", of: "_bob", token: "one"), push(), push(to: "_bob"))
        #expect(harness.deliveries.map(\.id) == [.init(push: 4, device: "mac"), .init(push: 5, device: "phone")])
    }

    @Test func `after the former owner of a token is unregistered, a third owner still replaces the second`() throws {
        var harness = try DeliverHarness()
        try harness.feed(register("phone", token: "one"), register("phone", of: "_bob", token: "one"))
        try harness.feed(unregister("phone"), register("phone", of: "_carol", token: "one"), push(to: "_bob"))
        #expect(try harness.outcomes.map { try member("outcome", of: $0) } == ["no_device"])
    }

    @Test func `a token is free when its device registers another token`() throws {
        var harness = try DeliverHarness()
        try harness.feed(register("phone", token: "one"), register("phone", token: "two"))
        try harness.feed(register("phone", of: "_bob", token: "one"), push(), push(to: "_bob"))
        #expect(try tokens(harness) == ["two", "one"])
    }

    @Test func `the same token under another topic, transport or container is another address`() throws {
        var harness = try DeliverHarness()
        try harness.feed(
            register("a", token: "one"), register("b", token: "one", topic: "other"),
            register("c", token: "one", topic: nil), register("d", transport: "hook", token: "one"),
            register("e", token: "one", container: "iCloud.Other"), push(), push(container: "iCloud.Other"))
        #expect(harness.deliveries.map(\.id.device) == ["a", "b", "c", "d", "e"])
    }

    @Test func `names are compared and sorted by their bytes`() throws {
        var harness = try DeliverHarness()
        try harness.feed(register("e\u{301}"), register("\u{E9}"), register("Z"), register(#"\u0041"#), push())
        #expect(
            harness.deliveries.map { Array($0.id.device.utf8) } == [[65], [90], [0x65, 0xCC, 0x81], [0xC3, 0xA9]])
        harness.acceptAll()
        let answered = harness.outcomes.count
        try harness.feed(register("A"), push(origin: #"{"user":"_alice","device":"A"}"#))
        harness.acceptAll()
        let excluded = harness.outcomes.dropFirst(answered).filter { $0.contains("excluded_origin") }
        #expect(try excluded.map { try member("device", of: $0) } == ["A"])
    }

    @Test func `at the limit of devices, a user can only register an existing device again`() throws {
        var harness = try DeliverHarness()
        for index in 0..<DeviceRegistry.devicesPerUserMax { try harness.feed(register("d\(index)")) }
        try harness.feed(register("one more"), register("d7", token: "renewed"))
        #expect(harness.rejections.map(\.code) == ["device.too_many"])
        try harness.feed(unregister("d0"), register("one more"))
        #expect(harness.rejections.count == 1)
    }

    @Test func `the registry keeps no registrations of removed devices`() throws {
        var registry = DeviceRegistry(transports: ["apns"])
        let events = [register("mac", token: "1"), register("mac", token: "2"), register("phone", token: "2")]
        for event in events { try registry.register(parsed(event) { json in try Registration(json) }, at: .epoch) }
        #expect(registry.count == 1)
        try registry.unregister(parsed(unregister("phone")) { json in try DeviceName(json) })
        #expect(registry.count == 0 && registry.byUser.isEmpty)
    }

    private func parsed<Value>(_ event: String, _ read: (JSONValue) throws -> Value) throws -> Value {
        var parser = JSONParser()
        return try Array(event.utf8).withUnsafeBytes { try read(try parser.parse($0)) }
    }
}
