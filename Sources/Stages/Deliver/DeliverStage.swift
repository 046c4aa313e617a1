import EventLog
import JSON
import PipelineKit

/// Sends every push to the devices of its user, and records what became of it at each of them.
///
/// Every push ends in exactly one outcome for each device that the user has when the push arrives, in the order of the
/// devices' names, or in a single `no_device`. Which device gets a push, and under which `apns-id`, depends on the
/// events before it alone, so that a push that is sent again after a restart is recognisable.
public struct DeliverStage: Stage {
    public typealias Settings = DeliverSettings

    public static let kind = "deliver"
    public static let logName = "outcomes"

    var registry: DeviceRegistry
    /// Pushes that wait for answers, and those behind them: as many as the host lets be in flight. A host that feeds old
    /// events again answers their pushes too, or they would wait here for ever.
    private(set) var ledger = OutcomeLedger()
    private let upstream: LogIdentity

    public init(_ settings: DeliverSettings, context: StageContext) throws(SettingsError) {
        registry = DeviceRegistry(transports: Set(settings.transports.map(\.name)))
        upstream = context.upstream
    }

    public static func transports(of settings: DeliverSettings) -> [TransportBinding] { settings.transports }

    /// What an earlier stage should have made into something else: the pipeline lacks it, or has it in the wrong place.
    private static let unfinished: [(type: StaticString, stage: String)] = [
        ("record.save", "match"), ("record.delete", "match"), ("match", "coalesce"), ("notification", "payload"),
    ]

    /// Events of other types end here: nothing reads on behind this stage.
    public mutating func receive(_ event: borrowing InputEvent, at now: Instant, into out: inout Outbox) {
        do throws(Rejection) {
            if event.isOfType("push") {
                try send(Push(event.json), sequence: event.sequence, into: &out)
            } else if event.isOfType("device.register") {
                try registry.register(Registration(event.json))
            } else if event.isOfType("device.unregister") {
                registry.unregister(try DeviceName(event.json))
            } else if let missing = Self.unfinished.first(where: { event.json["type"]?.equals($0.type) ?? false }) {
                throw Rejection(
                    code: "event.unfinished",
                    reason: "a \(missing.type) has come this far: put a \(missing.stage) stage before deliver",
                    path: "type")
            }
        } catch {
            out.reject(event, error)
        }
    }

    /// Records the answer. One to a push and device that wait for none changes nothing.
    public mutating func receive(_ answer: TransportAnswer, at now: Instant, into out: inout Outbox) {
        ledger.settle(answer)
        ledger.writeSettled(into: &out)
    }

    private mutating func send(_ push: Push, sequence: UInt64, into out: inout Outbox) {
        var entry = OutcomeLedger.Entry(outcome: OutcomeText(push, sequence: sequence))
        if let devices = registry.devices(of: push.user) {
            var line = PushLine(push)
            for device in devices {
                let id = upstream.uuid(position: sequence, salt: device.salt)
                let result = result(of: push, at: device)
                if result == nil { out.deliver(line.delivery(to: device, push: sequence, id)) }
                entry.add(device, id, result)
            }
        }
        ledger.append(entry, sequence: sequence)
        ledger.writeSettled(into: &out)
    }

    /// What becomes of the push without asking a transport; nil when one must be asked.
    private func result(of push: Push, at device: Device) -> Outcome? {
        if push.isFrom(device) { return .excludedOrigin }
        return device.hasTransport ? nil : .unknownTransport
    }
}
