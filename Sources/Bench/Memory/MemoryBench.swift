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
    let users: Int
    let interruption: Interruption

    /// The kinds of state that the bench measures. For each user, a stage keeps one device, one badge or one held
    /// notification.
    enum StateKind: String, CaseIterable, Sendable {
        case devices = "devices in deliver"
        case badges = "badges in payload"
        case heldNotifications = "held notifications in coalesce"
    }

    struct Result: Sendable {
        let kind: StateKind
        /// Bytes of memory for each device, badge or notification, including its text.
        let bytes: Double
        /// Bytes of the text that a stage must keep: for each device the names of user and device and the token, for
        /// each badge the user's name, and for each held notification the text of the match.
        let textBytes: Double

        var bytesBeyondText: Double { bytes - textBytes }
    }

    func run(_ kind: StateKind) throws -> Result {
        switch kind {
        case .devices:
            let settings = try Self.settings(DeliverSettings.self, "{transports: {apns: {use: file}}}")
            return try measure(kind, DeliverStage(settings, context: Self.context(of: "outcomes")))
        case .badges:
            let settings = try Self.settings(PayloadSettings.self, "{}")
            return try measure(kind, PayloadStage(settings, context: Self.context(of: "pushes")))
        case .heldNotifications:
            let settings = try Self.settings(CoalesceSettings.self, "{window: 1h, pendingPerUser: 10}")
            return try measure(kind, CoalesceStage(settings, context: Self.context(of: "notifications")))
        }
    }

    /// - Parameter log: One name for both the stage's own log and the log that it reads.
    private static func context(of log: String) -> StageContext {
        let identity = LogIdentity(seed: "bench memory", name: log)
        return StageContext(log: identity, upstream: identity, upstreamName: log, registry: .builtIns)
    }

    private static func settings<S: PluginSettings>(_ type: S.Type, _ text: String) throws -> S {
        try SettingsReader(text: text, file: "bench memory").decode(type)
    }

    private func measure(_ kind: StateKind, _ stage: some Stage) throws -> Result {
        var clock = StageClock(stage)
        var parser = JSONParser()
        var textBytes = 0
        let before = try Self.memory()
        for number in 0..<users {
            if number % 10_000 == 0 { try interruption.check() }
            let lines = kind.lines(number)
            var out = Outbox()
            for (place, line) in lines.enumerated() {
                out = Outbox()
                try Array(line.utf8).withUnsafeBytes { bytes in
                    let sequence = UInt64(number * lines.count + place + 1)
                    let event = InputEvent(sequence: sequence, json: try parser.parse(bytes), line: bytes)
                    clock.receive(event, at: .epoch, into: &out)
                }
                guard out.takeRejections().isEmpty else {
                    throw ToolFailure(.software, "the stage rejected \(line)")
                }
            }
            guard kind != .heldNotifications || out.count == 0 else {
                throw ToolFailure(.software, "the stage did not hold a notification")
            }
            textBytes += kind.textBytes(number, lines[lines.count - 1])
        }
        let bytes = try (Self.memory() - before) / Double(users)
        withExtendedLifetime(clock.stage) {}
        return Result(kind: kind, bytes: bytes, textBytes: Double(textBytes) / Double(users))
    }

    /// The anonymous memory of this process, in bytes.
    private static func memory() throws -> Double {
        ProcessUse.trimMemory()
        return Double(try ProcessUse.own().anonymousBytes)
    }
}

extension MemoryBench.StateKind {
    /// The events of a user, after which the stage keeps one device, badge or notification. No two users share a name,
    /// a device or a token.
    ///
    /// The first notification of a user leaves at once, and the second is held.
    fileprivate func lines(_ number: Int) -> [String] {
        self == .heldNotifications ? [line(number, 2 * number + 1), line(number, 2 * number + 2)] : [line(number, 0)]
    }

    private func line(_ number: Int, _ change: Int) -> String {
        let user = "_user\(number)"
        let owner = #""\#(Member.user)":"\#(user)""#
        switch self {
        case .devices:
            return
                #"{"type":"device.register",\#(WorkloadNames.place),\#(owner),"device":"\#(Self.device(number))","#
                + #""transport":"apns","token":"\#(Self.token(number))","topic":"com.example.Bench"}"#
        case .badges:
            return #"{"type":"badge.set",\#(WorkloadNames.place),\#(owner),"badge":\#(number % 50 + 1)}"#
        case .heldNotifications:
            return
                #"{"type":"match","change":\#(change),"notificationID":"\#(Self.uuid(number))",\#(WorkloadNames.place),"#
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
        case .heldNotifications: line.utf8.count
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
