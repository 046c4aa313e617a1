import BuiltIns
import EventLog
import Events
import Foundation
import JSON
import PipelineKit
import PipelineRuntime
import Time

/// Sends the pushes of ``DeliverBench`` through the deliver stage. The stage reads them from a log over a link, sends
/// them with the APNs transport and writes every outcome to its own log.
struct DeliverStageBench: Sendable {
    /// The settings of the transport, as members of a YAML flow mapping.
    let transport: String
    let count: Int
    let folder: String
    let interruption: Interruption

    struct Result: Sendable {
        var perSecond = 0.0
        /// Processor time of this process for each push; the process also serves the log of the pushes.
        var cpuMicroseconds = 0.0
    }

    /// The number of pushes before the measurement. They open the connections.
    private static let warmUpPushes = 5_000

    func run() async throws -> Result {
        let file = try pipeline()
        try DataFolder.prepare(file.data)
        try DeliverBenchLog(logs: file.data + "/logs").write(pushes: Self.warmUpPushes + count)
        let surroundings = HostSurroundings(registry: Self.registry, context: try HostContext())
        let process = try PipelineProcess(file, in: surroundings)
        async let running: Void = process.run()
        let result = try await measure(process.last.control)
        process.stop()
        try await running
        try interruption.check()
        guard let result else { throw ToolFailure(.software, "the deliver stage ended during the run") }
        try check(process.last.plan)
        return result
    }

    private static var registry: Registry {
        var registry = Registry.builtIns
        registry.register(PreparedPushes.self)
        return registry
    }

    private func pipeline() throws -> PipelineFile {
        let path = folder + "/bench.yaml"
        try TextFile.write(
            """
            pipeline: bench
            data: data
            seed: \(DeliverBenchLog.seed)
            log: { sync: interval 50ms }
            stages:
              \(PreparedPushes.kind): {}
              deliver:
                from: \(PreparedPushes.kind)
                transports:
                  apns: { use: apns, \(transport) }

            """, to: path)
        return try CheckedPipeline(PipelineText(path: path), checkingOnlyStagesOf: Self.registry).file
    }

    /// - Returns: Nil if the stage ended or the bench was interrupted before the last outcome.
    private func measure(_ control: HostControl) async throws -> Result? {
        let (warmUp, total) = (UInt64(Self.warmUpPushes), UInt64(Self.warmUpPushes + count))
        guard try await wait(for: warmUp, control) else { return nil }
        let (first, before, began) = (control.report.eventsOut, try ProcessUse.own(), ContinuousClock.now)
        guard try await wait(for: total, control) else { return nil }
        let (sent, seconds) = (Double(total - first), (ContinuousClock.now - began) / .seconds(1))
        let used = try ProcessUse.own().since(before)
        return Result(perSecond: sent / seconds, cpuMicroseconds: used.seconds / sent * 1e6)
    }

    private func wait(for outcomes: UInt64, _ control: HostControl) async throws -> Bool {
        await control.wait { [interruption] in $0.eventsOut >= outcomes || interruption.isRequested }
            && !interruption.isRequested
    }

    /// - Throws: ``ToolFailure`` if a push was not accepted.
    private func check(_ plan: HostPlan) throws {
        let reader = try EventLogReader(directory: plan.logsDirectory + "/" + plan.logName, from: .beginning)
        var parser = JSONParser()
        var count = 0
        while let batch = try reader.next() {
            for line in Lines(batch.body) {
                if try parser.parse(line)[.outcome]?.equals("accepted") == true { count += 1 }
            }
        }
        guard count == Self.warmUpPushes + self.count else {
            throw ToolFailure(.software, "\(count) of \(Self.warmUpPushes + self.count) pushes were accepted")
        }
    }
}

/// A source that takes the place of all stages before deliver: it serves a log that is written beforehand.
private struct PreparedPushes: Stage {
    typealias Settings = NoSettings

    static let kind = DeliverBenchLog.name
    static let isSource = true

    init(_ settings: NoSettings, context: StageContext) throws(SettingsError) {}

    mutating func receive(_ event: borrowing InputEvent, at now: Instant, into out: inout Outbox) { out.pass(event) }
}

/// A log of devices, one for each user, and of pushes to the users in turn.
struct DeliverBenchLog {
    static let seed = "bench"
    static let name = "prepared"
    private static let batch = 250

    /// The folder of the logs.
    let logs: String

    func write(pushes count: Int) throws {
        let identity = LogIdentity(seed: Self.seed, name: Self.name)
        let log = try EventLogWriter(
            EventLogOptions(directory: logs, name: Self.name, identity: identity, sync: .never))
        try append((0..<DeliverBenchServer.devices).map(Self.device), to: log)
        let pushes = (0..<DeliverBenchServer.devices).map(Self.push)
        for first in stride(from: 0, to: count, by: Self.batch) {
            let some = (first..<min(first + Self.batch, count)).map { pushes[$0 % pushes.count] }
            try append(some, to: log)
        }
        try log.close()
    }

    private func append(_ lines: [String], to log: EventLogWriter) throws {
        let text = Array((lines.joined(separator: "\n") + "\n").utf8)
        _ = try text.withUnsafeBytes { try log.append($0, count: lines.count, now: max(.wall(), log.lastNow)) }
    }

    private static let place =
        #""container":"\#(DeliverBenchPushes.app.container)","environment":"development""#

    private static func device(_ number: Int) -> String {
        #"{"type":"device.register",\#(place),"\#(Member.user)":"_u\#(number)","device":"phone","transport":"apns","#
            + #""token":"\#(DeliverBenchServer.token(number))","topic":"com.example.Bench"}"#
    }

    private static func push(_ number: Int) -> String {
        #"{"type":"push","notificationID":"b3837970-bcc6-8d7e-af56-077f72d43586",\#(place),"\#(Member.user)":"_u\#(number)","#
            + #""\#(Member.subscriptionID)":"notes","headers":{"apns-push-type":"alert","apns-priority":"10"},"#
            + #""payload":\#(DeliverBenchPushes.payload),"\#(Member.causes)":[{"log":"changes","sequence":17}]}"#
    }
}
