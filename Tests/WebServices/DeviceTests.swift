import Testing

@testable import PipelineTestKit
@testable import WebServices

/// The requests that register devices.
@Suite("Devices at the gateway", .serialized, .timeLimit(.minutes(3)))
struct DeviceTests {
    @Test func `when a user registers a 101st device, the oldest of the user's courier devices is unregistered`()
        async throws
    {
        try await GatewayRig.with(#", courier: "http://127.0.0.1:7480""#) { rig in
            func register(_ device: String) async throws {
                let answer = try await rig.post(
                    "tokens/register",
                    #"{"apnsEnvironment":"development","apnsToken":"\#(Self.token(device))","clientId":"\#(device)"}"#)
                #expect(answer.status == 200, "\(answer)")
            }
            func create(_ device: String) async throws {
                let answer = try await rig.post(
                    "tokens/create", #"{"apnsEnvironment":"development","clientId":"\#(device)"}"#)
                #expect(answer.status == 200, "\(answer)")
            }
            for number in 0..<10 { try await register("phone\(number)") }
            for number in 0..<90 { try await create("page\(number)") }
            // The device exists already, so no other device is unregistered.
            try await create("page89")
            try await register("phone10")
            try await create("page90")
            _ = try await UserLimitTests.modify(rig, [("create", UserLimitTests.subscription("all"))])
            var devices: Set<String> = []
            for name in ["n1", "n2"] {
                _ = try await rig.modify("create", name)
                for _ in 0..<100 {
                    let push = await rig.pushes.next()
                    devices.insert(try #require(push.firstMatch(of: /"device":"([a-z0-9]+)"/)).output.1.description)
                }
            }
            let expected = (0...10).map { "phone\($0)" } + (2...90).map { "page\($0)" }
            #expect(devices == Set(expected))
        }
    }

    /// A token for an invented device.
    private static func token(_ device: String) -> String {
        device.utf8.map { String($0, radix: 16) }.joined()
    }

    @Test func `an APNs token that is empty, too long, or not whole bytes in hexadecimal is refused`() async throws {
        try await GatewayRig.with { rig in
            for token in ["not a token!", "abc", "", "6a0g", String(repeating: "a", count: 514)] {
                let answer = try await rig.post(
                    "tokens/register", #"{"apnsEnvironment":"development","apnsToken":"\#(token)","clientId":"phone"}"#)
                #expect(answer.status == 400 && answer["serverErrorCode"] == "BAD_REQUEST", "\(answer)")
                #expect(answer["reason"]?.hasPrefix("apnsToken: ") == true, "\(answer)")
            }
        }
    }

    @Test
    func `if a device's name is too long, the error names the member of the request that has the name`() async throws {
        try await GatewayRig.with { rig in
            let long = String(repeating: "a", count: 300)
            let inBody = try await rig.post(
                "tokens/register", #"{"apnsEnvironment":"development","apnsToken":"6a0f","clientId":"\#(long)"}"#)
            #expect(inBody.status == 400 && inBody["reason"]?.hasPrefix("clientId: ") == true, "\(inBody)")
            let nameless = try await rig.post(
                "tokens/register", #"{"apnsEnvironment":"development","apnsToken":"\#(long)"}"#)
            #expect(nameless.status == 400 && nameless["reason"]?.hasPrefix("apnsToken: ") == true, "\(nameless)")
        }
    }
}
