import Events
import JSON
import PipelineKit
import Time

/// Sends every push to the devices of its user, and records what became of it at each of them.
///
/// Every push ends in exactly one outcome for each device that the user has when the push arrives, or in a single
/// `no_device`. An outcome is written when the answer comes. Where that takes long, an `attempt` is written first and the
/// push waits in the stage's state. The `apns-id` of a push depends on the events before it alone, so that a push that is
/// sent again after a restart is recognisable.
///
/// Where the settings say so, each device that is retired is told to the app's backend, as durably as a push: see
/// ``RetirementNotice``.
package struct DeliverStage: Stage {
    package typealias Settings = DeliverSettings

    package static let kind = "deliver"
    package static let writes: LogKind? = .outcomes

    var registry: DeviceRegistry
    /// Pushes that were handed out, and are not answered.
    var ledger = OutcomeLedger()
    /// Pushes that wait for another attempt, or that were handed out for one.
    var pending = PendingPushes()
    /// In the order in which they begin.
    var effects: [ComingEffect] = []
    /// What is left over of a wake is for the next one.
    var notBefore = Instant.epoch
    package private(set) var deadline: Instant?
    let settings: DeliverSettings
    let upstream: LogIdentity
    /// What tells whether a token is one; none where any is taken.
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

    /// What an earlier stage should have made into something else: the pipeline lacks it, or has it in the wrong place.
    private static let unfinished: [(type: StaticString, stage: String)] = [
        ("record.save", "match"), ("record.delete", "match"), ("match", "coalesce"), ("notification", "payload"),
    ]

    /// Events of other types end here: nothing reads on behind this stage.
    package mutating func receive(_ event: borrowing InputEvent, at now: Instant, into out: inout Outbox) {
        do throws(Rejection) {
            if event.isOfType(EventName.push) {
                let push = try Push(event.json)
                send(push, to: registry.devices(of: push.user) ?? [], event.sequence, at: now, into: &out)
            } else if event.isOfType(EventName.pushRedrive) {
                let redrive = try Redrive(event.json)
                let devices = registry.device(redrive.device).map { [$0] } ?? []
                send(redrive.push, to: devices, event.sequence, redriveOf: redrive.former, at: now, into: &out)
            } else if event.isOfType(EventName.deviceRegister) {
                try registry.register(Registration(event.value, tokenRules), at: now)
            } else if event.isOfType(EventName.deviceUnregister) {
                registry.unregister(try DeviceName(event.value))
            } else if let missing = Self.unfinished.first(where: { event.value[.type]?.equals($0.type) ?? false }) {
                throw Rejection(
                    code: "event.unfinished",
                    reason: "a \(missing.type) has come this far: put a \(missing.stage) stage before deliver",
                    path: "type")
            }
        } catch {
            out.reject(event, error)
        }
    }

    package var firstOut: UInt64? { ledger.first }

    /// Records the answer. One to a push and device that wait for none changes nothing.
    package mutating func receive(_ answer: TransportAnswer, at now: Instant, into out: inout Outbox) {
        if pending.takesAnswer(to: answer.id) {
            fold(answer, toRepeatOf: PendingKey(answer.id), at: now, into: &out)
        } else if let settled = ledger.settle(answer.id) {
            for line in settled.lines { write(line, of: settled.origin, answer, at: now, into: &out) }
        }
        updateDeadline()
    }

    /// - Parameter former: Where the push stood, if it is redriven.
    private mutating func send(
        _ push: Push, to devices: [Device], _ sequence: UInt64, redriveOf former: JSONValue? = nil, at now: Instant,
        into out: inout Outbox
    ) {
        var line = PushLine(push)
        let origin = OutcomeLedger.Origin(
            push: sequence, time: now, outcome: OutcomeText(push, sequence: sequence, redriveOf: former))
        if devices.isEmpty { out.append { origin.outcome.writeNoDevice(to: &$0) } }
        let collapseID = push.collapseID
        let isExpired = settings.expired == .drop && push.isExpired(at: now)
        var rest: [OutcomeLedger.Line] = []
        for device in devices {
            var entry = prepare(&line, origin, device, isExpired, into: &out)
            if entry.isTransported, let collapseID {
                noteOrder(of: &entry, origin, collapseID, replacesOlder: former == nil)
            }
            if rest.isEmpty, !entry.isOut {
                write(entry, of: origin, at: now, into: &out)
            } else {
                rest.append(entry)
            }
        }
        if !rest.isEmpty { ledger.insert(origin, rest) }
        updateDeadline()
    }

    /// What becomes of a push at a device; where a transport is to be asked, the push is handed out.
    private func prepare(
        _ line: inout PushLine, _ origin: OutcomeLedger.Origin, _ device: Device, _ isExpired: Bool,
        into out: inout Outbox
    ) -> OutcomeLedger.Line {
        let id = upstream.uuid(position: origin.push, salt: device.salt)
        if let end = end(of: line.push, at: device, isExpired) {
            return OutcomeLedger.Line(device: device, id: id, result: .ended(end))
        }
        let delivery = line.delivery(to: device, push: origin.push, id)
        let isHeld = registry.apps.isHeld(device.appIndex)
        if !isHeld { out.deliver(delivery) }
        return OutcomeLedger.Line(
            device: device, id: id, delivery: delivery, result: isHeld ? .held : .out)
    }

    /// Takes note of the pushes that share the collapse ID: an older one is not sent again.
    private mutating func noteOrder(
        of line: inout OutcomeLedger.Line, _ origin: OutcomeLedger.Origin, _ collapseID: [UInt8], replacesOlder: Bool
    ) {
        let key = line.device.collapseKey(collapseID)
        line.collapseKey = key
        guard replacesOlder else { return }
        ledger.noteSuperseder(origin.push, of: key)
        guard pending.hasSome(of: line.device.owner), let older = pending.superseded(by: key) else { return }
        pending.noteOvertaken(older, by: origin.push)
        if !older.isUnderWay, !older.isOut { line.overtaken = older.key }
    }

    /// What becomes of the push without asking a transport; nil when one must be asked. The device that made the change
    /// gets none: see ``Push/isFrom(_:)``.
    private func end(of push: Push, at device: Device, _ isExpired: Bool) -> OutcomeCode? {
        if push.isFrom(device) { return .excludedOrigin }
        if !device.hasTransport { return .unknownTransport }
        return isExpired ? .expired : nil
    }

    /// What waits for its time says when that is.
    mutating func updateDeadline() {
        guard !pending.isEmpty || !effects.isEmpty || !registry.apps.held.isEmpty else {
            deadline = nil
            return
        }
        let due = pending.due.map { max($0, notBefore) }
        deadline = Instant.first(Instant.first(due, effects.first?.due), registry.apps.due)
    }
}

extension Instant {
    fileprivate static func first(_ one: Instant?, _ other: Instant?) -> Instant? {
        guard let one, let other else { return one ?? other }
        return min(one, other)
    }
}
