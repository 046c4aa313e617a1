import Testing

@testable import LocalAPNs

struct DeviceTests {
    var fixture = Fixture()

    private mutating func refusal(_ token: String) throws -> Refusal? {
        try fixture.refusal { $0.set(":path", "/3/device/\(token)") }
    }

    private mutating func register(
        _ state: Device.State = .active, _ environment: Environment? = nil, bundle: String = Fixture.bundle,
        since: Int64? = nil
    ) {
        fixture.registry.set(
            Device(token: "ab01", bundle: bundle, environment: environment, state: state, since: since))
    }

    @Test(arguments: ["/3/device", "/3/device/"])
    mutating func `a request without a device token is rejected`(path: String) throws {
        #expect(try fixture.refusal { $0.set(":path", path) } == .bad("MissingDeviceToken"))
    }

    @Test(arguments: ["a", "abc", "xy", "ab%20", "ab/cd", String(repeating: "ab", count: 257)])
    mutating func `a malformed or too long device token is rejected`(token: String) throws {
        #expect(try refusal(token) == .bad("BadDeviceToken"))
    }

    @Test(arguments: ["ab", "AB01", String(repeating: "ab", count: 256)])
    mutating func `a device token may have any even length up to 512 digits`(token: String) throws {
        #expect(try refusal(token) == nil)
    }

    @Test mutating func `an unknown device token is rejected only if the registry is strict`() throws {
        register()
        #expect(try refusal("ab02") == nil)
        fixture.registry.isStrict = true
        #expect(try refusal("ab01") == nil)
        #expect(try refusal("AB01") == nil)
        #expect(try refusal("ab02") == .bad("BadDeviceToken"))
    }

    @Test mutating func `a device token of the other environment is rejected`() throws {
        register(.active, .production)
        #expect(try refusal("ab01") == .bad("BadDeviceToken"))
    }

    @Test mutating func `a device token of another app is rejected`() throws {
        register(bundle: "com.example.Mail")
        #expect(try refusal("ab01") == .bad("DeviceTokenNotForTopic"))
    }

    @Test mutating func `a topic with a suffix belongs to the same app`() throws {
        register()
        let refusal = try fixture.refusal {
            $0.set(":path", "/3/device/ab01")
            $0.set("apns-topic", "\(Fixture.bundle).voip")
            $0.set("apns-push-type", "voip")
        }
        #expect(refusal == nil)
    }

    @Test mutating func `the answer to an invalid device token says when the token became invalid, if known`()
        throws
    {
        register(.unregistered, since: 17)
        #expect(try refusal("ab01") == .answer(status: 410, reason: "Unregistered", timestamp: 17))
        register(.expired)
        #expect(try refusal("ab01") == .answer(status: 410, reason: "ExpiredToken"))
    }

    @Test mutating func `pushes to a device that is offline are accepted`() throws {
        register(.offline)
        #expect(try refusal("ab01") == nil)
    }
}
