import PipelineKit
import Testing
import Time

@testable import Coalesce

@Suite struct `Coalesce settings` {
    @Test func `have defaults: policy latest, window one second, a hundred pending notifications per user`() throws {
        let settings = try read("")
        #expect(settings.policy.kind == "latest")
        #expect((settings.window, settings.maximumDelay) == (.seconds(1), .seconds(10)))
        #expect((settings.pendingPerUser, settings.atLimit) == (100, .flushOldest))
    }

    @Test func `have a default maximum delay of ten windows`() throws {
        let settings = try read("window: 250ms")
        #expect((settings.window, settings.maximumDelay) == (.milliseconds(250), .milliseconds(2500)))
        let zero = try read("window: 0s")
        #expect((zero.window, zero.maximumDelay) == (.zero, .zero))
    }

    @Test func `must not have a maximum delay shorter than the window`() throws {
        #expect(throws: PipelineFileError.self) { try read("{window: 2s, maximumDelay: 1s}") }
        #expect(try read("{window: 2s, maximumDelay: 2s}").maximumDelay == .seconds(2))
    }

    @Test(arguments: [
        ("policy: latst", #"pipeline.yaml:1:9: policy: unknown policy 'latst'; did you mean "latest"?"#),
        (
            "policy: {use: debunce}",
            #"pipeline.yaml:1:15: policy.use: unknown policy 'debunce'; did you mean "debounce"?"#
        ),
        ("policy: {window: 1s}", "pipeline.yaml:1:1: policy.use: required"),
        ("policy: [latest]", "pipeline.yaml:1:9: policy: expected a name, or a mapping with use, found a list"),
        ("policy: {use: none, for: 1s}", "pipeline.yaml:1:21: policy.for: unknown key"),
        (
            "atLimit: flush",
            #"pipeline.yaml:1:10: atLimit: expected one of flush-oldest, flush-all, pass-newest, found flush"#
        ),
        ("pendingPerUser: 0", "pipeline.yaml:1:17: pendingPerUser: must be between 1 and 1000000000, is 0"),
        ("pendingPerUsr: 5", #"pipeline.yaml:1:1: pendingPerUsr: unknown key; did you mean "pendingPerUser"?"#),
    ])
    func `that are invalid are rejected with position and key, and the error suggests a word for a misspelled one`(
        _ text: String, _ error: String
    ) throws {
        let found = try refusal(text) ?? "accepted"
        #expect(found.hasPrefix(error), "\(found)")
    }

    @Test func `of a plugin's policy are checked by the plugin`() throws {
        var other = context
        other.registry.register(EveryMinutesPolicy.self)
        let settings = try read("{policy: {use: every, minutes: 5}, window: 1s, maximumDelay: 1h}")
        #expect(throws: Never.self) { try CoalesceStage(settings, context: other) }
        let wrong = try read("{policy: {use: every, minutes: 500}}")
        #expect(throws: SettingsError.self) { try CoalesceStage(wrong, context: other) }
    }

    private struct EveryMinutesPolicy: CoalescingPolicy {
        struct Settings: PluginSettings {
            let minutes: Int

            init(from settings: inout SettingsReader) throws(SettingsError) {
                minutes = try settings.integer("minutes", default: 1, in: 1...60)
            }
        }

        static let kind = "every"
        let minutes: Int

        init(_ settings: Settings, times: CoalescingTimes) { minutes = settings.minutes }

        func due(_ arrival: CoalescingArrival) -> Instant {
            let length = Int64(minutes) * 60_000_000
            return Instant(microseconds: (arrival.now.microseconds / length + 1) * length)
        }
    }

    private func refusal(_ text: String) throws -> String? {
        do {
            _ = try CoalesceStage(read(text), context: context)
            return nil
        } catch { return "\(error)" }
    }

    private func read(_ yaml: String) throws -> CoalesceSettings {
        try SettingsReader(text: yaml.isEmpty ? "{}" : yaml, file: "pipeline.yaml").decode(CoalesceSettings.self)
    }
}
