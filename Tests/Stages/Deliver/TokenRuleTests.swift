import PipelineKit
import Testing

@testable import Deliver

/// Deliver checks the tokens of registrations with the rules of their transports.
@Suite struct TokenRuleTests {
    /// Rejects the token `NONE`, and converts all other tokens to lower case.
    private struct LowercasingTransport: Transport {
        struct Settings: PluginSettings {
            init(from settings: inout SettingsReader) throws(SettingsError) {}
        }

        static let kind = "strict"

        static func address(_ token: String) throws(Rejection) -> String {
            guard token != "NONE" else { throw Rejection(code: "device.token", reason: "none", path: "token") }
            return token.lowercased()
        }

        init(_ settings: Settings, context: TransportContext) throws(SettingsError) {}

        func deliver(_ pushes: [Delivery]) async -> [TransportAnswer] { [] }
    }

    private func harness(_ settings: String = "") throws -> DeliverHarness {
        var registry = Registry()
        registry.register(LowercasingTransport.self)
        return try DeliverHarness(
            settings: "transports: {apns: {use: strict}, hook: {use: webhook}}\n" + settings, registry: registry)
    }

    @Test func `an invalid token makes a registration a dead letter, and the earlier registration stays`() throws {
        var harness = try harness()
        try harness.feed(register("mac", token: "aa"), register("mac", token: "NONE"), register("pad", token: "NONE"))
        #expect(
            harness.rejections
                == Array(repeating: Rejection(code: "device.token", reason: "none", path: "token"), count: 2))
        try harness.feed(push())
        #expect(harness.takeDeliveries().map(\.text).filter { $0.contains(#""token":"aa""#) }.count == 1)
    }

    @Test func `a token is compared and sent in the form that its transport gives it`() throws {
        var harness = try harness()
        try harness.feed(register("mac", token: "AB"), register("pad", token: "ab"), push())
        let deliveries = harness.takeDeliveries()
        #expect(deliveries.map(\.id.device) == ["pad"] && deliveries[0].text.contains(#""token":"ab""#))
    }

    @Test
    func `any token is accepted if its transport has no rule, or under 'tokens: any', the default in earlier versions`()
        throws
    {
        var harness = try harness()
        try harness.feed(
            register("mac", transport: "hook", token: "NONE"), register("pad", transport: "lost", token: "NONE"))
        #expect(harness.rejections.isEmpty)
        harness = try self.harness("tokens: any")
        try harness.feed(
            register("mac", token: "NONE"), register("pad", token: "AB"), register("tv", token: "ab"), push())
        #expect(harness.rejections.isEmpty && harness.takeDeliveries().map(\.id.device) == ["mac", "pad", "tv"])
        #expect(DeliverSettings.changedDefaults.contains(ChangedDefault("tokens", before: "any", now: "checked")))
    }
}
