import Testing

@testable import LocalAPNs

/// Rules 21, 24 and 25.
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
    mutating func aTokenMustBeThere(path: String) throws {
        #expect(try fixture.refusal { $0.set(":path", path) } == .bad("MissingDeviceToken"))
    }

    @Test(arguments: ["a", "abc", "xy", "ab%20", "ab/cd", String(repeating: "ab", count: 257)])
    mutating func aTokenIsHexOfEvenLength(token: String) throws {
        #expect(try refusal(token) == .bad("BadDeviceToken"))
    }

    @Test(arguments: ["ab", "AB01", String(repeating: "ab", count: 256)])
    mutating func anyLengthWillDo(token: String) throws { #expect(try refusal(token) == nil) }

    @Test mutating func anUnknownTokenIsBadWhereTheListIsStrict() throws {
        know()
        #expect(try refusal("ab02") == nil)
        fixture.registry.isStrict = true
        #expect(try refusal("ab01") == nil)
        #expect(try refusal("AB01") == nil)
        #expect(try refusal("ab02") == .bad("BadDeviceToken"))
    }

    @Test mutating func aTokenOfTheOtherEnvironmentIsBad() throws {
        know(.active, .production)
        #expect(try refusal("ab01") == .bad("BadDeviceToken"))
    }

    @Test mutating func aTokenOfAnotherAppIsNotForTheTopic() throws {
        know(bundle: "com.example.Mail")
        #expect(try refusal("ab01") == .bad("DeviceTokenNotForTopic"))
    }

    @Test mutating func aSuffixIsOfTheSameApp() throws {
        know()
        let refusal = try fixture.refusal {
            $0.set(":path", "/3/device/ab01")
            $0.set("apns-topic", "\(Fixture.bundle).voip")
            $0.set("apns-push-type", "voip")
        }
        #expect(refusal == nil)
    }

    @Test mutating func aDeadTokenIsGoneSinceATime() throws {
        know(.unregistered, since: 17)
        #expect(try refusal("ab01") == .answer(status: 410, reason: "Unregistered", timestamp: 17))
        know(.expired)
        #expect(try refusal("ab01") == .answer(status: 410, reason: "ExpiredToken"))
    }

    @Test mutating func aDeviceThatIsOfflineIsGood() throws {
        know(.offline)
        #expect(try refusal("ab01") == nil)
    }
}
