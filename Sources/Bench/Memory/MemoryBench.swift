import BuiltIns
import Coalesce
import Deliver
import Events
import JSON
import Payload
import PipelineKit
import PipelineRuntime
import Time

/// Measures the memory that stages need for each device, badge and held notification, on one thread without a host.
struct MemoryBench: Sendable {
    let count: Int
    let interruption: Interruption

    /// The kinds of state that a stage keeps. Each user has one device, one badge or one notification.
    enum Kept: String, CaseIterable, Sendable {
        case devices = "devices in deliver"
        case badges = "badges in payload"
        case pending = "held notifications in coalesce"
    }

    struct Result: Sendable {
        let kept: Kept
        /// Bytes of memory for each device, badge or notification, including its text.
        let bytes: Double
        /// Bytes of the text that a stage must keep: names and tokens, or the notification.
        let textBytes: Double

        var bytesBeyondText: Double { bytes - textBytes }
    }

    func run(_ kept: Kept) throws -> Result {
        switch kept {
        case .devices:
            let settings = try Self.settings(DeliverSettings.self, "{transports: {apns: {use: file}}}")
            return try measure(kept, DeliverStage(settings, context: Self.context(of: "outcomes")))
        case .badges:
            let settings = try Self.settings(PayloadSettings.self, "{}")
            return try measure(kept, PayloadStage(settings, context: Self.context(of: "pushes")))
        case .pending:
            let settings = try Self.settings(CoalesceSettings.self, "{window: 1h, pendingPerUser: 10}")
            return try measure(kept, CoalesceStage(settings, context: Self.context(of: "notifications")))
        }
    }

    private static func context(of log: String) -> StageContext {
        let identity = LogIdentity(seed: "bench memory", name: log)
        return StageContext(log: identity, upstream: identity, upstreamName: log, registry: .builtIns)
    }

    private static func settings<S: PluginSettings>(_ type: S.Type, _ text: String) throws -> S {
        try SettingsReader(text: text, file: "bench memory").decode(type)
    }

    private func measure(_ kept: Kept, _ stage: some Stage) throws -> Result {
        var clock = StageClock(stage)
        var parser = JSONParser()
        var textBytes = 0
        let before = try Self.memory()
        for number in 0..<count {
            if number % 10_000 == 0 { try interruption.check() }
            var out = Outbox()
            let line = kept.line(number)
            textBytes += kept.textBytes(number, line)
            try Array(line.utf8).withUnsafeBytes { bytes in
                let event = InputEvent(sequence: UInt64(number + 1), json: try parser.parse(bytes), line: bytes)
                clock.receive(event, at: .epoch, into: &out)
            }
            guard out.takeRejections().isEmpty else {
                throw ToolFailure(.software, "the stage rejected \(line)")
            }
        }
        let bytes = try (Self.memory() - before) / Double(count)
        withExtendedLifetime(clock.stage) {}
        return Result(kept: kept, bytes: bytes, textBytes: Double(textBytes) / Double(count))
    }

    /// Bytes of memory that belong to no file.
    private static func memory() throws -> Double {
        ProcessUse.trimMemory()
        return Double(try ProcessUse.own().anonymousBytes)
    }
}

extension MemoryBench.Kept {
    /// The event of a user. No two users share a name, a device or a token.
    fileprivate func line(_ number: Int) -> String {
        let user = "_user\(number)"
        let owner = #""\#(Member.user)":"\#(user)""#
        switch self {
        case .devices:
            return
                #"{"type":"device.register",\#(WorkloadNames.place),\#(owner),"device":"\#(Self.device(number))","#
                + #""transport":"apns","token":"\#(Self.token(number))","topic":"com.example.Bench"}"#
        case .badges:
            return #"{"type":"badge.set",\#(WorkloadNames.place),\#(owner),"badge":\#(number % 50 + 1)}"#
        case .pending:
            return
                #"{"type":"match","change":\#(number + 1),"notificationID":"\#(Self.uuid(number))",\#(WorkloadNames.place),"#
                + #""database":"private",\#(owner),"\#(Member.subscriptionID)":"notes","subscriptionType":"query","#
                + #""reason":"update","recordName":"r\#(number)","recordType":"Note","#
                + #""zoneID":{"zoneName":"Notes","ownerRecordName":"\#(user)"},"origin":{\#(owner),"device":"mac"},"#
                + #""fields":{"title":{"value":"Draft \#(number)","type":"STRING"}},"#
                + #""notificationInfo":{"alertBody":"A note was changed","collapseIDKey":"notes"}}"#
        }
    }

    fileprivate func textBytes(_ number: Int, _ line: String) -> Int {
        let user = "_user\(number)".utf8.count
        return switch self {
        case .devices: user + Self.device(number).utf8.count + Self.token(number).utf8.count
        case .badges: user
        case .pending: line.utf8.count
        }
    }

    private static func device(_ number: Int) -> String { uuid(number) }

    /// A token of 64 digits, like a token of APNs.
    private static func token(_ number: Int) -> String {
        let digits = String(Mixer.scramble(UInt64(number)), radix: 16)
        return String(repeating: "a", count: 64 - digits.count) + digits
    }

    private static func uuid(_ number: Int) -> String {
        "5b1c9a2e-6d0f-4b53-9c1e-" + String(100_000_000_000 + number)
    }
}
