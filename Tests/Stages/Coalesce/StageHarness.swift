import JSON
import PipelineKit
import Time

@testable import Coalesce

/// An event line and its arrival time in milliseconds.
struct Arrival {
    var time: Int64
    var line: String
}

/// The lines that a stage wrote, with their times, and the codes of its rejections.
struct StageOutput: Equatable {
    var lines: [String] = []
    var times: [Int64] = []
    var rejections: [String] = []
}

let context = StageContext(
    log: LogIdentity(high: 1, low: 2), upstream: LogIdentity(high: 3, low: 4), upstreamName: "matches",
    registry: .policies)

extension Registry {
    static var policies: Registry {
        var registry = Registry()
        registry.register(Latest.self)
        registry.register(Debounce.self)
        registry.register(Uncoalesced.self)
        return registry
    }
}

/// Feeds a stage as a host does, and wakes the stage until it holds no notification.
///
/// - Parameter joinedWithNext: The indices of the events that are in one batch with the next event. After each event
///   that is not listed here, the outbox is emptied.
func outputs(
    of arrivals: [Arrival], policy: String = "debounce", window: Duration = .milliseconds(100),
    maximumDelay: Duration? = nil, joinedWithNext: Set<Int> = []
) throws -> StageOutput {
    let settings = CoalesceSettings(
        policy: PluginChoice(policy), window: window, maximumDelay: maximumDelay ?? window * 10)
    return try outputs(of: arrivals, settings, joinedWithNext: joinedWithNext)
}

func outputs(
    of arrivals: [Arrival], _ settings: CoalesceSettings, joinedWithNext: Set<Int> = []
) throws -> StageOutput {
    var clock = StageClock(try CoalesceStage(settings, context: context))
    var parser = JSONParser()
    var outbox = Outbox()
    var output = StageOutput()
    for (index, arrival) in arrivals.enumerated() {
        let time = Instant(microseconds: arrival.time * 1000)
        while let deadline = clock.stage.deadline, deadline <= time {
            clock.serveDeadlines(through: deadline, into: &outbox)
            output.collect(&outbox, at: clock.now)
        }
        let line = Array(arrival.line.utf8)
        try line.withUnsafeBytes { bytes in
            let json = try parser.parse(bytes)
            let event = InputEvent(sequence: UInt64(index + 1), json: json, line: bytes)
            clock.receive(event, at: time, into: &outbox)
        }
        if !joinedWithNext.contains(index) { output.collect(&outbox, at: clock.now) }
    }
    while let deadline = clock.stage.deadline {
        output.collect(&outbox, at: clock.now)
        clock.serveDeadlines(through: deadline, into: &outbox)
    }
    output.collect(&outbox, at: clock.now)
    return output
}

extension StageOutput {
    mutating func collect(_ outbox: inout Outbox, at now: Instant) {
        let text = String(decoding: outbox.lines, as: UTF8.self)
        let new = text.split(separator: "\n").map(String.init)
        lines += new
        times += new.map { _ in now.microseconds / 1000 }
        rejections += outbox.takeRejections().map(\.rejection.code)
        outbox.removeEvents()
    }
}

/// A match as the match stage writes it, with made-up identifiers.
struct SampleMatch {
    var change = 1
    var user = "_alice"
    var container = "iCloud.com.example.Notes"
    var environment = "development"
    var database = "private"
    var subscription = "feed"
    var reason = "create"
    var device: String? = "alice-mac"
    var info: String?

    static func collapsing(_ id: String, change: Int = 1) -> SampleMatch {
        SampleMatch(change: change, info: #"{"alertBody":"A note was added","collapseIDKey":"\#(id)"}"#)
    }

    /// The members that match and notification share: all members except the type, the causes and `atLimit`.
    func members(withOrigin: Bool = true) -> String {
        let origin = device.map { #","origin":{"user":"_alice","device":"\#($0)"}"# } ?? ""
        return #""change":\#(change),"notificationID":"5b1c9a2e-6d0f-4b53-9c1e-\#(String(100_000_000_000 + change))","#
            + #""container":"\#(container)","environment":"\#(environment)","database":"\#(database)","user":"\#(user)","#
            + #""subscriptionID":"\#(subscription)","subscriptionType":"query","reason":"\#(reason)","#
            + #""recordName":"n\#(change)","recordType":"Note","zoneID":{"zoneName":"Notes","ownerRecordName":"_alice"}"#
            + (withOrigin ? origin : "") + #","fields":{"title":{"value":"Hi","type":"STRING"}}"#
            + (info.map { #","notificationInfo":\#($0)"# } ?? "")
    }

    var line: String { #"{"type":"match",\#(members())}"# }

    func notification(causes: [Int], withOrigin: Bool = true, atLimit: String? = nil) -> String {
        let list = causes.map { #"{"log":"changes","sequence":\#($0)}"# }.joined(separator: ",")
        let early = atLimit.map { #""atLimit":"\#($0)","# } ?? ""
        return #"{"type":"notification","causes":[\#(list)],\#(early)\#(members(withOrigin: withOrigin))}"#
    }
}
