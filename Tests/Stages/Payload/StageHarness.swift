import JSON
import PipelineKit
import Time

@testable import Payload

/// The lines that the stage wrote, and its rejections.
struct StageOutput: Equatable {
    var lines: [String] = []
    var rejections: [String] = []
}

let context = StageContext(
    log: LogIdentity(high: 1, low: 2), upstream: LogIdentity(high: 3, low: 4), upstreamName: "notifications")

/// Gives events to a new stage, as its host does, and returns the stage's output.
///
/// - Parameters:
///   - cuts: The indices of the events after which a batch ends.
///   - time: The time of all events, in microseconds since 1970.
func outputs(
    of events: [String], cuts: Set<Int> = [], at time: Int64 = 0, _ settings: PayloadSettings = PayloadSettings()
) throws -> StageOutput {
    var clock = StageClock(try PayloadStage(settings, context: context))
    var parser = JSONParser()
    var outbox = Outbox()
    var output = StageOutput()
    for (index, line) in events.map({ Array($0.utf8) }).enumerated() {
        try line.withUnsafeBytes { bytes in
            let json = try parser.parse(bytes)
            let event = InputEvent(sequence: UInt64(index + 1), json: json, line: bytes)
            clock.receive(event, at: Instant(microseconds: time), into: &outbox)
        }
        if cuts.contains(index) { output.collect(&outbox) }
    }
    output.collect(&outbox)
    return output
}

/// The push for a notification; `.null` if the stage does not write exactly one event.
func push(of notification: SampleNotification) throws -> Tree {
    let output = try outputs(of: [notification.line])
    guard output.lines.count == 1, let line = output.lines.first else { return .null }
    return try Tree(line)
}

extension StageOutput {
    mutating func collect(_ outbox: inout Outbox) {
        lines += String(decoding: outbox.lines, as: UTF8.self).split(separator: "\n").map(String.init)
        rejections += outbox.takeRejections().map { "\($0.rejection.code) \($0.rejection.path)" }
        outbox.removeEvents()
    }
}

/// A notification as the coalesce stage writes it. The defaults are the values of the reference payloads.
struct SampleNotification {
    static let alice = "_0123456789abcdef0123456789abcdef"

    var id = "5b1c9a2e-6d0f-4b53-9c1e-0a4f3f6d7e05"
    var container = "iCloud.com.example.Notes"
    var environment = "development"
    var user = SampleNotification.alice
    var database = "private"
    var type = "query"
    var subscription = "my-notes"
    var reason = "create"
    var record = "record-2"
    var zoneName = "Notes"
    var zoneOwner = SampleNotification.alice
    // `origin`, `fields` and `info` are JSON texts.
    var origin: String?
    var fields: String?
    var info: String?

    static let causes = #"[{"log":"changes","sequence":15},{"log":"changes","sequence":17}]"#

    var line: String {
        let texts = [
            ("notificationID", id), ("container", container), ("environment", environment), ("database", database),
            ("user", user), ("subscriptionID", subscription), ("subscriptionType", type), ("reason", reason),
            ("recordName", record), ("recordType", "Note"),
        ]
        let zone = #","zoneID":{"zoneName":\#(quoted(zoneName)),"ownerRecordName":\#(quoted(zoneOwner))}"#
        return #"{"type":"notification","causes":\#(Self.causes),"change":17"#
            + texts.map { #","\#($0)":\#(quoted($1))"# }.joined() + zone
            + [("origin", origin), ("fields", fields), ("notificationInfo", info)]
            .map { name, json in json.map { #","\#(name)":\#($0)"# } ?? "" }.joined() + "}"
    }
}

func quoted(_ text: String) -> String {
    var buffer = ByteBuffer()
    buffer.appendJSON(text)
    return buffer.text
}
