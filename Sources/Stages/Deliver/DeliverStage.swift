import Events
import JSON
import PipelineKit
import Time

/// Sends every push to the devices of its user and records an outcome for each device.
///
/// Every push ends in exactly one outcome for each device that the user has when the push arrives, or in one
/// `no_device`. A redriven push goes to one device only. An outcome is written when the answer comes. If a push must be
/// tried again, an `attempt` is written first, and the push waits in the stage's state. All attempts of
/// a push at a device have the same `apns-id`, so a repeat after a restart is recognisable.
///
/// If the settings ask for it, the app's backend gets a ``RetirementNotice`` for each retired device.
package struct DeliverStage: Stage {
    package typealias Settings = DeliverSettings

    package static let kind = "deliver"
    package static let reads: LogKind? = .pushes
    package static let writes: LogKind? = .outcomes

    var registry: DeviceRegistry
    /// Pushes that were handed out for the first time and have no answer yet.
    var ledger = OutcomeLedger()
    /// Pushes that wait for another attempt, for the answer to another attempt, or until their app is resumed.
    var pending = PendingPushes()
    /// Effects that are not applied yet, in the order in which they are due.
    var effects: [ScheduledEffect] = []
    /// The earliest time at which due pushes are handed out, after a wake that could not hand out all of them.
    var notBefore = Instant.epoch
    package private(set) var deadline: Instant?
    let settings: DeliverSettings
    let upstream: LogIdentity
    private let tokenRules: TokenRules

    package init(_ settings: DeliverSettings, context: StageContext) throws(SettingsError) {
        registry = DeviceRegistry(transports: Set(settings.transports.map(\.name)))
        self.settings = settings
        upstream = context.upstream
        tokenRules = TokenRules(settings, context.registry)
    }

    package static func transports(of settings: DeliverSettings) -> [TransportBinding] {
        settings.transports + (settings.retired.map { [$0] } ?? [])
    }

    /// Events that reach this stage only if another stage is missing before it, and the kind of the missing stage.
    private static let unfinished: [(type: StaticString, stage: String)] = [
        ("record.save", "match"), ("record.delete", "match"), ("match", "coalesce"), ("notification", "payload"),
    ]

    /// Handles an event. Ignores types that the stage does not know, because no stage follows this one.
    package mutating func receive(_ event: borrowing InputEvent, at now: Instant, into out: inout Outbox) {
        do throws(Rejection) {
            if event.isOfType(EventName.push) {
                let push = try Push(event.json)
                send(push, to: registry.devices(of: push.user) ?? .several([]), event.sequence, at: now, into: &out)
            } else if event.isOfType(EventName.pushRedrive) {
                let redrive = try Redrive(event.json)
                let devices = registry.device(redrive.device).map { UserDevices.one($0) } ?? .several([])
                send(redrive.push, to: devices, event.sequence, redriveOf: redrive.original, at: now, into: &out)
            } else if event.isOfType(EventName.deviceRegister) {
                let registration = try Registration(event.value, tokenRules)
                let isFirstOfUnknownTransport = try registry.register(registration, at: now)
                if isFirstOfUnknownTransport { reportUnknownTransport(of: registration, into: &out) }
            } else if event.isOfType(EventName.deviceUnregister) {
                registry.unregister(try DeviceName(event.value))
            } else if let missing = Self.unfinished.first(where: { event.value[.type]?.equals($0.type) ?? false }) {
                throw Rejection(
                    code: "event.unfinished",
                    reason: "deliver received a \(missing.type): put a \(missing.stage) stage before deliver",
                    path: "type")
            }
        } catch {
            out.reject(event, error)
        }
    }

    package var firstUnanswered: UInt64? { ledger.first }

    /// Records the answer. Ignores an answer that the stage does not expect.
    package mutating func receive(_ answer: TransportAnswer, at now: Instant, into out: inout Outbox) {
        if pending.expectsAnswer(to: answer.id) {
            fold(answer, toPending: PendingKey(answer.id), at: now, into: &out)
        } else if let settled = ledger.settle(answer.id) {
            for line in settled.lines { write(line, of: settled.arrival, answer, at: now, into: &out) }
        }
        updateDeadline()
    }

    /// - Parameter original: The position of the original push, if this is a redrive.
    private mutating func send(
        _ push: Push, to devices: UserDevices, _ sequence: UInt64, redriveOf original: JSONValue? = nil,
        at now: Instant,
        into out: inout Outbox
    ) {
        var pushLine = PushLine(push)
        let arrival = OutcomeLedger.Arrival(
            push: sequence, time: now, outcome: OutcomeText(push, sequence: sequence, redriveOf: original))
        if devices.isEmpty { out.append { arrival.outcome.writeNoDevice(to: &$0) } }
        let headers = PushHeaders(push.headers)
        let isExpired = settings.expired == .drop && headers.isExpired(at: now)
        var waiting: [OutcomeLedger.Line] = []
        for device in devices {
            var line = prepare(&pushLine, arrival, device, isExpired, into: &out)
            if line.isTransported, let collapseID = headers.collapseID {
                noteCollapseKey(of: &line, arrival, collapseID, replacesOlder: original == nil)
            }
            if waiting.isEmpty, !line.awaitsAnswer {
                write(line, of: arrival, at: now, into: &out)
            } else {
                waiting.append(line)
            }
        }
        if !waiting.isEmpty { ledger.insert(arrival, waiting) }
        updateDeadline()
    }

    /// Makes the ledger line of a push at a device, and hands the push out if a transport must get it now.
    private func prepare(
        _ pushLine: inout PushLine, _ arrival: OutcomeLedger.Arrival, _ device: Device, _ isExpired: Bool,
        into out: inout Outbox
    ) -> OutcomeLedger.Line {
        let id = upstream.uuid(position: arrival.push, salt: device.salt)
        if let end = end(of: pushLine.push, at: device, isExpired) {
            return OutcomeLedger.Line(device: device, id: id, result: .ended(end))
        }
        let delivery = pushLine.delivery(to: device, push: arrival.push, id)
        let isHeld = registry.apps.isHeld(device.appIndex)
        if !isHeld { out.deliver(delivery) }
        return OutcomeLedger.Line(
            device: device, id: id, delivery: delivery, result: isHeld ? .held : .handedOut)
    }

    /// Records the collapse key of a push at a device. If `replacesOlder` is true, marks older pushes with the same key
    /// as superseded, so that they are not sent again.
    private mutating func noteCollapseKey(
        of line: inout OutcomeLedger.Line, _ arrival: OutcomeLedger.Arrival, _ collapseID: [UInt8], replacesOlder: Bool
    ) {
        let key = line.device.collapseKey(collapseID)
        line.collapseKey = key
        guard replacesOlder else { return }
        ledger.noteSuperseder(arrival.push, of: key)
        guard pending.mayHavePushes(ofOwnerOf: line.device), let older = pending.superseded(by: key) else { return }
        pending.noteSuperseder(arrival.push, of: older)
        if !older.isStillAtTransport, !older.awaitsAnswer { line.replaced = older.key }
    }

    /// The outcome of a push that no transport gets; nil if a transport must get the push.
    private func end(of push: Push, at device: Device, _ isExpired: Bool) -> OutcomeCode? {
        if push.isFrom(device) { return .excludedOrigin }
        if !device.hasTransport { return .unknownTransport }
        return isExpired ? .expired : nil
    }

    /// Sets the deadline to the earliest time at which a push, an effect or a probe is due.
    mutating func updateDeadline() {
        guard !pending.isEmpty || !effects.isEmpty || !registry.apps.held.isEmpty else {
            deadline = nil
            return
        }
        let times = (pending.due.map { max($0, notBefore) }, effects.first?.due, registry.apps.due)
        let first = min(times.0 ?? .distantFuture, times.1 ?? .distantFuture, times.2 ?? .distantFuture)
        deadline = first == .distantFuture ? nil : first
    }
}
