import Testing

@testable import LocalAPNs

struct FieldTests {
    var fixture = Fixture()

    private mutating func refusal(_ name: String, _ value: String?) throws -> Refusal? {
        try fixture.refusal { $0.set(name, value) }
    }

    @Test(arguments: [
        "", "1", "B77AEB23-2FFB-4A72-8D4C-C9A6C5E5F0D5", "b77aeb232ffb4a728d4cc9a6c5e5f0d5",
        "b77aeb23-2ffb-4a72-8d4c-c9a6c5e5f0dg", "b77aeb23-2ffb-4a72-8d4c-c9a6c5e5f0d55",
    ])
    mutating func `an ID that is not a canonical UUID is bad`(id: String) throws {
        #expect(try refusal("apns-id", id) == .bad("BadMessageId"))
    }

    @Test mutating func `a canonical UUID is accepted as an ID`() throws {
        #expect(try refusal("apns-id", "b77aeb23-2ffb-4a72-8d4c-c9a6c5e5f0d5") == nil)
    }

    @Test(arguments: ["", "-1", "1.5", "tomorrow", "+1", "99999999999999999999"])
    mutating func `a malformed or too large expiration is bad`(text: String) throws {
        #expect(try refusal("apns-expiration", text) == .bad("BadExpirationDate"))
    }

    @Test(arguments: ["0", "1", "1798761599", "9223372036854775807"])
    mutating func `an expiration may be a whole number of seconds from 0 to the highest Int64`(text: String) throws {
        #expect(try refusal("apns-expiration", text) == nil)
    }

    @Test(arguments: ["", "0", "2", "11", "high", "05"])
    mutating func `an unknown priority is bad`(text: String) throws {
        #expect(try refusal("apns-priority", text) == .bad("BadPriority"))
    }

    @Test(arguments: ["1", "5", "10"])
    mutating func `a known priority is accepted`(text: String) throws {
        #expect(try refusal("apns-priority", text) == nil)
    }

    @Test(arguments: ["", "Alert", "silent"])
    mutating func `an unknown push type is invalid`(type: String) throws {
        #expect(try refusal("apns-push-type", type) == .bad("InvalidPushType"))
    }

    @Test mutating func `a missing push type gives a warning, or is rejected if a quirk says so`() throws {
        #expect(
            try fixture.warnings { $0.set("apns-push-type", nil) }
                == ["no apns-push-type: the push may be delayed or dropped"])
        fixture.check.quirks.missingPushType = .refuse
        #expect(try refusal("apns-push-type", nil) == .bad("MissingPushType"))
    }

    @Test(arguments: [nil, "1", "10"])
    mutating func `a background push needs priority 5`(priority: String?) throws {
        let refusal = try fixture.refusal {
            $0.set("apns-push-type", "background")
            $0.set("apns-priority", priority)
        }
        #expect(refusal == .bad("BadPriority"))
    }

    @Test mutating func `a collapse ID has at most 64 bytes`() throws {
        #expect(try refusal("apns-collapse-id", String(repeating: "é", count: 32)) == nil)
        #expect(try refusal("apns-collapse-id", String(repeating: "é", count: 32) + "e") == .bad("BadCollapseId"))
    }
}
