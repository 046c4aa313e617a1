import Testing

@testable import LocalAPNs

struct DeviceTests {
    var fixture = Fixture()

    private mutating func refusal(_ token: String) throws -> Refusal? {
        try fixture.refusal { $0.set(":path", "/3/device/\(token)") }
    }

    private mutating func know(
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
    mutating func `a token is an even number of hexadecimal digits`(token: String) throws {
        #expect(try refusal(token) == .bad("BadDeviceToken"))
    }

    @Test(arguments: ["ab", "AB01", String(repeating: "ab", count: 256)])
    mutating func `a token may have any even length up to 512 digits`(token: String) throws {
        #expect(try refusal(token) == nil)
    }

    @Test mutating func `an unknown token is bad only if the registry is strict`() throws {
        know()
        #expect(try refusal("ab02") == nil)
        fixture.registry.isStrict = true
        #expect(try refusal("ab01") == nil)
        #expect(try refusal("AB01") == nil)
        #expect(try refusal("ab02") == .bad("BadDeviceToken"))
    }

    @Test mutating func `a token of the other environment is bad`() throws {
        know(.active, .production)
        #expect(try refusal("ab01") == .bad("BadDeviceToken"))
    }

    @Test mutating func `a token of another app is not for the topic`() throws {
        know(bundle: "com.example.Mail")
        #expect(try refusal("ab01") == .bad("DeviceTokenNotForTopic"))
    }

    @Test mutating func `a topic with a suffix belongs to the same app`() throws {
        know()
        let refusal = try fixture.refusal {
            $0.set(":path", "/3/device/ab01")
            $0.set("apns-topic", "\(Fixture.bundle).voip")
            $0.set("apns-push-type", "voip")
        }
        #expect(refusal == nil)
    }

    @Test mutating func `an invalid token is reported with the time since when it is invalid`() throws {
        know(.unregistered, since: 17)
        #expect(try refusal("ab01") == .answer(status: 410, reason: "Unregistered", timestamp: 17))
        know(.expired)
        #expect(try refusal("ab01") == .answer(status: 410, reason: "ExpiredToken"))
    }

    @Test mutating func `pushes to a device that is offline are accepted`() throws {
        know(.offline)
        #expect(try refusal("ab01") == nil)
    }
}
