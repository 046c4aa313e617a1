import PipelineKit
import PipelineRuntime
import TestSupport
import Testing
import Time
import ZeroMQ

/// Tests a stage that asks to be woken again and again.
@Suite struct DeadlineTests {
    private static func clock(_ way: String) throws -> StageClock<Restless> {
        let settings = try SettingsReader(text: "{way: \(way)}", file: "settings").decode(Restless.Settings.self)
        let log = LogIdentity(seed: "test", name: "restless")
        return StageClock(
            try Restless(settings, context: StageContext(log: log, upstream: log, upstreamName: "gate")))
    }

    private static func feed(_ clock: inout StageClock<Restless>, _ out: inout Outbox) throws {
        try InputEvent.read("{}", sequence: 1) {
            clock.receive($0, at: Instant(microseconds: 1_000_000), into: &out)
        }
    }

    @Test(arguments: ["same", "creeping", "talking"])
    func `endless wakes are a fault, and the stage is not woken again`(way: String) throws {
        var clock = try Self.clock(way)
        var out = Outbox()
        try Self.feed(&clock, &out)
        #expect(clock.fault == nil)
        clock.advance(to: Instant(microseconds: 9_000_000), into: &out)
        let fault = try #require(clock.fault)
        #expect(fault.stage == "restless" && fault.wakes == StageFault.wakesUntilFault)
        #expect(fault.from >= Instant(microseconds: 1_000_000) && fault.to - fault.from < .seconds(1))
        #expect(fault.next >= fault.to)
        #expect(!clock.serveDeadlines(through: .distantFuture, into: &out))
        #expect("\(fault)".contains("100000 times in a row") && "\(fault)".contains(fault.next.rfc3339))
        if way == "same" { #expect("\(fault)".contains("at 1970-01-01T00:00:01")) }
    }

    @Test(arguments: ["patient", "burst"])
    func `fewer wakes in a row than the limit, and wakes spread over a longer time, are no fault`(way: String) throws {
        var clock = try Self.clock(way)
        var out = Outbox()
        try Self.feed(&clock, &out)
        clock.advance(to: Instant(microseconds: 400_000_000), into: &out)
        #expect(clock.fault == nil)
    }

    @Test func `endless wakes end the host with an error that names the stage`() async throws {
        let folder = try Folder()
        let context = try HostContext()
        let file = try PipelineFile.gateAndRelay(in: folder, relay: "{from: gate, stage: restless, way: same}")
        let relay = try RunningHost("relay", of: file, context)
        let endpoint = file.sourceStage.bind
        try await SocketThread.run(name: "upstream") {
            let upstream = try FakeUpstream(endpoint, context.zmq)
            try upstream.waitForOpen()
            try upstream.welcome(after: 0, last: 1)
            try upstream.sendBatch(first: 1, count: 1, "{\"n\":1}\n")
            try upstream.wait(for: "the end") { relay.host.control.report.phase == .stopped }
        }
        let fault = try #require(await relay.failure() as? StageFault)
        #expect(fault.stage == "relay" && fault.from == fault.to)
    }
}

/// When it receives an event, it asks to be woken at once. The setting `way` decides what each wake does.
struct Restless: Stage {
    struct Settings: PluginSettings {
        let way: String

        init(from settings: inout SettingsReader) throws(SettingsError) { way = try settings.string("way") }
    }

    static let kind = "restless"
    private let way: String
    private(set) var deadline: Instant?
    private var wakes = 0

    init(_ settings: Settings, context: StageContext) throws(SettingsError) { way = settings.way }

    mutating func receive(_ event: borrowing InputEvent, at now: Instant, into out: inout Outbox) { deadline = now }

    mutating func wake(at now: Instant, into out: inout Outbox) {
        wakes += 1
        switch way {
        case "creeping": deadline = now.advanced(by: .microseconds(1))
        case "talking": out.append { $0.append("{}") }
        case "patient": deadline = now.advanced(by: .milliseconds(1))
        // 50,000 wakes at one deadline must be possible: a real stage may hold 50,000 events until then, and pass on
        // one of them at each wake.
        case "burst" where wakes == 50_000: deadline = nil
        default: break
        }
    }
}
