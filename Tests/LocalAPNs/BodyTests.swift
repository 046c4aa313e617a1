import Testing

@testable import LocalAPNs

struct BodyTests {
    var fixture = Fixture()

    private mutating func refusal(_ body: String, type: String = "alert") throws -> Refusal? {
        try fixture.refusal { request in
            request.setBody(body)
            request.set("apns-push-type", type)
            request.set("apns-topic", Fixture.bundle + (type == "voip" ? ".voip" : ""))
        }
    }

    /// A payload of `count` bytes.
    private static func payload(_ count: Int) -> String {
        #"{"a":""# + String(repeating: "a", count: count - 8) + #""}"#
    }

    @Test mutating func `a request without a body is rejected`() throws {
        #expect(try refusal("") == .bad("PayloadEmpty"))
        #expect(try refusal("{}") == nil)
    }

    @Test(arguments: [("alert", 4096), ("voip", 5120)])
    mutating func `a body that is too long is rejected`(type: String, limit: Int) throws {
        #expect(try refusal(BodyTests.payload(limit), type: type) == nil)
        #expect(
            try refusal(BodyTests.payload(limit + 1), type: type) == .answer(status: 413, reason: "PayloadTooLarge"))
    }

    @Test mutating func `only the first bytes of a long body are kept, but all its bytes are counted`() throws {
        let request = try fixture.request { $0.appendBody(Array(repeating: UInt8(ascii: " "), count: 100_000)) }
        #expect(request.body.count == PushRequest.keptBodyBytesMax && request.bodyBytes > 100_000)
        var inspection = Inspection(request)
        #expect(fixture.refusal(of: &inspection) == .answer(status: 413, reason: "PayloadTooLarge"))
    }

    @Test(arguments: ["[]", "{", "hi", #""hi""#])
    mutating func `a body that is not a JSON object gives a warning, or is rejected if a quirk says so`(body: String)
        throws
    {
        #expect(try fixture.warnings { $0.setBody(body) }.count == 1)
        fixture.check.quirks.badPayload = .refuse
        #expect(try refusal(body) == .bad("PayloadEmpty"))
    }

    @Test(arguments: [
        ("background", #"{"aps":{"content-available":1,"badge":1}}"#, 1), ("background", #"{"aps":{}}"#, 1),
        ("background", #"{"aps":{"content-available":1}}"#, 0), ("alert", #"{"aps":{"content-available":1}}"#, 2),
        ("alert", #"{"aps":{"content-available":1,"sound":"default"}}"#, 0),
    ])
    mutating func `a payload that does not fit the push type or the priority gives warnings`(
        type: String, body: String, count: Int
    ) throws {
        let warnings = try fixture.warnings {
            $0.setBody(body)
            $0.set("apns-push-type", type)
            $0.set("apns-priority", type == "background" ? "5" : "10")
        }
        #expect(warnings.count == count)
    }

    @Test mutating func `a request can be checked before its body comes`() throws {
        var inspection = Inspection(try fixture.request { $0.setBody("") })
        let refusal = fixture.check.refusal(
            of: &inspection, on: &fixture.connection, by: &fixture.registry, at: fixture.now, hasBody: false)
        #expect(refusal == nil)
    }
}
