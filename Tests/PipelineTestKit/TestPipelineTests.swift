import BelfryTestKit
import BuiltIns
import PipelineKit
import PipelineTestKit
import TestSupport
import Testing
import Time

/// What the kit promises to authors of tests.
@Suite struct TestPipelineTests {
    private static let yaml = """
        pipeline: kit
        stages:
          ingest: {}
          match: {from: ingest}
          coalesce: {from: match, window: 1s, maximumDelay: 5s}
          payload: {from: coalesce}
          deliver: {from: payload, transports: {apns: {use: console}}}
        """

    private static let names = #""container":"iCloud.com.example.Notes","environment":"development""#
    private static let device =
        #"{"type":"device.register",\#(names),"user":"_a","device":"phone","transport":"apns","token":"1","topic":"notes"}"#

    @Test func `refused commands are reported with line and path, and the others are accepted`() async throws {
        let belfry = try await TestPipeline.start(yaml: Self.yaml)
        let first = try await belfry.send(Self.device, "not JSON", #"{"type":"device.register"}"#)
        #expect(first.accepted == 1)
        #expect(first.refusals.map(\.line) == [2, 3])
        #expect(first.refusals.map(\.code).first == "json.unexpected_byte")
        let second = try await belfry.send([#"{"type":"launch"}"#])
        #expect(second.accepted == 0)
        #expect(second.refusals.map(\.line) == [4])
        #expect(second.refusals.first?.path == "type")
        try await belfry.stop()
    }

    @Test func `the clock moves only when the test moves it`() async throws {
        let belfry = try await TestPipeline.start(yaml: Self.yaml)
        #expect(belfry.now == .testStart)
        try await belfry.send(Self.device)
        try await belfry.settle()
        #expect(belfry.now == .testStart)
        try await belfry.advance(by: .milliseconds(1_500))
        #expect(belfry.now.microseconds == 1_767_225_600_000_000 + 1_500_000)
        try await belfry.stop()
    }

    @Test func `a test can read the log of each stage, but not of an unknown stage`() async throws {
        let belfry = try await TestPipeline.start(yaml: Self.yaml)
        try await belfry.send(Self.device)
        try await belfry.settle()
        for stage in ["ingest", "match", "coalesce", "payload"] {
            #expect(try belfry.events(of: stage) == [Self.device])
        }
        #expect(try belfry.outcomes() == [])
        #expect(throws: TestPipelineError.self) { try belfry.events(of: "courier") }
        try await belfry.stop()
    }

    @Test(.timeLimit(.minutes(5)))
    func `if a stage fails, settling and stopping throw its error, and other requests fail`() async throws {
        var registry = Registry.builtIns
        registry.register(Endless.self)
        let yaml = Self.yaml.replacing("from: match,", with: "from: endless,")
            .replacing("  coalesce:", with: "  endless: {from: match}\n  coalesce:")
        let belfry = try await TestPipeline.start(yaml: yaml, registry: registry)
        await #expect(throws: StageFault.self) {
            try await belfry.send(Self.device)
            try await belfry.settle()
        }
        await #expect(throws: (any Error).self) { try await belfry.send(Self.device) }
        await #expect(throws: (any Error).self) { try await belfry.advance(by: .seconds(1)) }
        await #expect(throws: StageFault.self) { try await belfry.stop() }
    }

    @Test(.timeLimit(.minutes(5))) func `a stopped pipeline refuses requests`() async throws {
        let belfry = try await TestPipeline.start(yaml: Self.yaml)
        try await belfry.stop()
        await #expect(throws: TestPipelineError.self) { try await belfry.send(Self.device) }
        await #expect(throws: TestPipelineError.self) { try await belfry.settle() }
    }

    @Test func `several pipelines can run at the same time`() async throws {
        try await withThrowingTaskGroup(of: [String].self) { group in
            // Under the thread sanitizer the threads of many pipelines wait for one lock of the Swift runtime.
            for _ in 0..<(Sanitizer.isThread ? 2 : Tier.value(3, full: 6)) {
                group.addTask {
                    let belfry = try await TestPipeline.start(yaml: Self.yaml)
                    try await belfry.send(Self.device)
                    try await belfry.settle()
                    let events = try belfry.events(of: "payload")
                    try await belfry.stop()
                    return events
                }
            }
            for try await events in group { #expect(events == [Self.device]) }
        }
    }
}

/// After its first event, this stage asks to be woken again and again.
private struct Endless: Stage {
    static let kind = "endless"
    private(set) var deadline: Instant?

    init(_ settings: NoSettings, context: StageContext) throws(SettingsError) {}

    mutating func receive(_ event: borrowing InputEvent, at now: Instant, into out: inout Outbox) { deadline = now }
    mutating func wake(at now: Instant, into out: inout Outbox) {}
}
