import JSON
import PipelineKit
import Testing
import Time

@testable import Deliver

/// A test harness for the deliver stage. The events that it feeds and the events that the stage writes are text.
struct DeliverHarness {
    var stage: DeliverStage
    private(set) var deliveries: [Delivery] = []
    /// The stage's own answers to deliveries that it withdrew.
    private(set) var withdrawals: [TransportAnswer] = []
    /// All events that the stage wrote to the outcomes log since the last ``takeSummary()``.
    private(set) var outcomes: [String] = []
    private(set) var rejections: [Rejection] = []
    /// The messages to the operator.
    private(set) var operatorMessages: [String] = []
    private var sequence: UInt64 = 0
    /// The time of the manual clock.
    private(set) var now = Instant(microseconds: 1_000_000)

    init(
        settings text: String = "transports: {apns: {use: file}, hook: {use: webhook}}",
        upstream: LogIdentity = LogIdentity(seed: "harness", name: "pushes"), registry: Registry = Registry()
    ) throws {
        let settings = try SettingsReader(text: text, file: "harness.yaml").decode(DeliverSettings.self)
        let log = LogIdentity(seed: "harness", name: "outcomes")
        stage = try DeliverStage(
            settings, context: StageContext(log: log, upstream: upstream, upstreamName: "pushes", registry: registry))
    }

    /// Feeds events, which get the next sequences.
    mutating func feed(_ events: String...) throws { for event in events { try feed(event) } }

    mutating func feed(_ event: String) throws {
        sequence += 1
        var parser = JSONParser()
        var out = Outbox()
        try Array(event.utf8).withUnsafeBytes { line in
            let json = try parser.parse(line)
            stage.receive(InputEvent(sequence: sequence, json: json, line: line), at: now, into: &out)
        }
        collect(&out)
    }

    mutating func answer(_ answer: TransportAnswer) {
        var out = Outbox()
        stage.receive(answer, at: now, into: &out)
        collect(&out)
    }

    mutating func acceptAll() {
        for delivery in deliveries { answer(TransportAnswer(delivery.id, .accepted)) }
    }

    /// Wakes the stage at each deadline until the clock reaches a time in seconds since 1970.
    mutating func advance(to seconds: Int64) {
        let time = Instant(microseconds: seconds * 1_000_000)
        while let deadline = stage.deadline, deadline <= time { wakeOnce() }
        now = max(now, time)
    }

    mutating func wakeOnce() {
        guard let deadline = stage.deadline else { return }
        now = max(now, deadline)
        var out = Outbox()
        stage.wake(at: now, into: &out)
        collect(&out)
    }

    /// A harness with a new stage, which is restored from a snapshot of this harness's stage.
    func restarted(settings: String) throws -> DeliverHarness {
        var writer = SnapshotWriter()
        stage.snapshot(into: &writer)
        var harness = try DeliverHarness(settings: settings)
        var reader = SnapshotReader(writer.bytes)
        try harness.stage.restore(from: &reader)
        (harness.sequence, harness.now) = (sequence, now)
        return harness
    }

    func state(_ name: String) -> String {
        var lines = ByteBuffer()
        if name == DeliverStage.stateName {
            stage.writeState(into: &lines)
        } else {
            stage.writeState(name, into: &lines)
        }
        return lines.text
    }

    /// The pushes and notices handed out since the last call.
    mutating func takeDeliveries() -> [Delivery] {
        defer { deliveries = [] }
        return deliveries
    }

    /// A short text for each event that was written since the last call: its outcome or type, push and device.
    mutating func takeSummary() throws -> [String] {
        defer { outcomes = [] }
        return try outcomes.map { line in
            let word = try member("outcome", of: line) ?? member("type", of: line) ?? ""
            let place = [try member("push", of: line), try member("device", of: line)].compactMap { $0 }
            return ([word] + place).joined(separator: " ")
        }
    }

    private mutating func collect(_ out: inout Outbox) {
        outcomes += String(decoding: out.lines, as: UTF8.self).split(separator: "\n").map(String.init)
        operatorMessages += out.operatorLines
        rejections += out.takeRejections().map(\.rejection)
        deliveries += out.takeDeliveries()
        withdrawals += out.takeWithdrawals()
    }
}

func register(
    _ device: String, of user: String = "_alice", transport: String = "apns", token: String? = nil,
    topic: String? = "com.example.Notes", container: String = "iCloud.Notes"
) -> String {
    let topic = topic.map { #","topic":"\#($0)""# } ?? ""
    return #"{"type":"device.register","container":"\#(container)","environment":"development","user":"\#(user)","#
        + #""device":"\#(device)","transport":"\#(transport)","token":"\#(token ?? "t-" + user + device)"\#(topic)}"#
}

func unregister(_ device: String, of user: String = "_alice") -> String {
    #"{"type":"device.unregister","container":"iCloud.Notes","environment":"development","user":"\#(user)","#
        + #""device":"\#(device)"}"#
}

func push(
    to user: String = "_alice", origin: String? = nil, container: String = "iCloud.Notes", collapseID: String? = "c",
    expiration: Int? = nil
) -> String {
    let headers =
        (expiration.map { #","apns-expiration":"\#($0)""# } ?? "")
        + (collapseID.map { #","apns-collapse-id":"\#($0)""# } ?? "")
    let origin = origin.map { #","origin":\#($0)"# } ?? ""
    return #"{"type":"push","notificationID":"n-1","container":"\#(container)","environment":"development","#
        + #""user":"\#(user)","subscriptionID":"feed"\#(origin),"headers":{"apns-push-type":"alert","#
        + #""apns-priority":"10"\#(headers)},"payload":{"aps":{"alert":"Hi"},"ck":{}},"#
        + #""causes":[{"log":"changes","sequence":17}]}"#
}

func redrive(
    _ push: String, of position: UInt64 = 1, to device: String = "mac", of user: String = "_alice"
) -> String {
    #"{"type":"push.redrive","container":"iCloud.Notes","environment":"development","user":"\#(user)","#
        + #""device":"\#(device)","redriveOf":{"log":"pushes","sequence":\#(position)},"push":\#(push)}"#
}

extension Delivery {
    var text: String { String(decoding: line, as: UTF8.self) }
}

/// The value of a member: a string is decoded, and any other value is JSON.
func member(_ name: String, of line: String) throws -> String? {
    var parser = JSONParser()
    return try Array(line.utf8).withUnsafeBytes { bytes in
        let value = try parser.parse(bytes).member(name)
        return value?.string ?? value.map { String(decoding: $0.raw, as: UTF8.self) }
    }
}
