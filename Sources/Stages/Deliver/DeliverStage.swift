import EventLog
import JSON
import PipelineKit

/// Sends every push to the devices of its user, and records what became of it at each of them.
///
/// Every push ends in exactly one outcome for each device that the user has when the push arrives, in the order of the
/// devices' names, or in a single `no_device`. Where that takes long, an `attempt` stands in the outcome's place and the
/// push becomes part of the stage's state. Which device gets a push, and under which `apns-id`, depends on the events
/// before it alone, so that a push that is sent again after a restart is recognisable.
///
/// Where the settings say so, each device that is retired is told to the app's backend, as durably as a push: see
/// ``RetirementNotice``.
public struct DeliverStage: Stage {
    public typealias Settings = DeliverSettings

    public static let kind = "deliver"
    public static let logName = "outcomes"

    var registry: DeviceRegistry
    /// Pushes that wait for answers, and those behind them: as many as the host lets be in flight. A host that feeds old
    /// events again answers their pushes too, or they would wait here for ever.
    var ledger = OutcomeLedger()
    /// Pushes that wait for longer.
    var pending = PendingPushes()
    /// Those of them that a transport has.
    var window = RepeatWindow()
    /// In the order in which they begin.
    var effects: [ComingEffect] = []
    /// What is left over of a wake is for the next one.
    var notBefore = Instant.epoch
    /// When pushes that came since the last answer have something done about them.
    private var arrivalDue: Instant?
    public private(set) var deadline: Instant?
    let settings: DeliverSettings
    let upstream: LogIdentity
    /// What tells whether a token is one; none where any is taken.
    private let tokenRules: TokenRules

    public init(_ settings: DeliverSettings, context: StageContext) throws(SettingsError) {
        registry = DeviceRegistry(transports: Set(settings.transports.map(\.name)))
        self.settings = settings
        upstream = context.upstream
        tokenRules = TokenRules(settings, context.registry)
    }

    public static func transports(of settings: DeliverSettings) -> [TransportBinding] {
        settings.transports + (settings.retired.map { [$0] } ?? [])
    }

    /// What an earlier stage should have made into something else: the pipeline lacks it, or has it in the wrong place.
    private static let unfinished: [(type: StaticString, stage: String)] = [
        ("record.save", "match"), ("record.delete", "match"), ("match", "coalesce"), ("notification", "payload"),
    ]

    /// Events of other types end here: nothing reads on behind this stage.
    public mutating func receive(_ event: borrowing InputEvent, at now: Instant, into out: inout Outbox) {
        do throws(Rejection) {
            if event.isOfType("push") {
                let push = try Push(event.json)
                send(push, to: registry.devices(of: push.user) ?? [], event.sequence, at: now, into: &out)
            } else if event.isOfType("push.redrive") {
                let redrive = try Redrive(event.json)
                let devices = registry.device(redrive.device).map { [$0] } ?? []
                send(redrive.push, to: devices, event.sequence, redriveOf: redrive.former, at: now, into: &out)
            } else if event.isOfType("device.register") {
                try registry.register(Registration(event.json, tokenRules), at: now)
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
        if window.settle(answer) {
            while let (key, answer) = window.next() { fold(answer, toRepeatOf: key, at: now, into: &out) }
        } else {
            ledger.settle(answer)
            writeSettled(at: now, into: &out)
        }
        updateDeadline()
    }

    /// - Parameter former: Where the push stood, if it is redriven.
    private mutating func send(
        _ push: Push, to devices: [Device], _ sequence: UInt64, redriveOf former: JSONValue? = nil, at now: Instant,
        into out: inout Outbox
    ) {
        var entry = OutcomeLedger.Entry(
            push: sequence, at: now, outcome: OutcomeText(push, sequence: sequence, redriveOf: former),
            isRedrive: former != nil)
        var line = PushLine(push)
        let isExpired = settings.expired == .drop && push.isExpired(at: now)
        for device in devices {
            let id = upstream.uuid(position: sequence, salt: device.salt)
            if let end = end(of: push, at: device, isExpired) {
                entry.add(.init(device: device, id: id, head: [], rest: [], result: .ended(end)))
                continue
            }
            let delivery = line.delivery(to: device, push: sequence, id)
            let isHeld = registry.apps.isHeld(device.appIndex)
            if isHeld { hold(push, at: device, now) } else { out.deliver(delivery) }
            entry.add(
                .init(
                    device: device, id: id, head: delivery.head, rest: delivery.rest,
                    result: isHeld ? .held : .none))
        }
        ledger.append(entry)
        writeSettled(at: now, into: &out)
        updateDeadline()
    }

    /// What becomes of the push without asking a transport; nil when one must be asked.
    private func end(of push: Push, at device: Device, _ isExpired: Bool) -> OutcomeCode? {
        if push.isFrom(device) { return .excludedOrigin }
        if !device.hasTransport { return .unknownTransport }
        return isExpired ? .expired : nil
    }

    private mutating func hold(_ push: Push, at device: Device, _ now: Instant) {
        registry.apps[device.appIndex].hold?.noteArrival(at: now)
        let end = min(push.expiresAt ?? .distantFuture, now.advanced(by: settings.retryFor))
        arrivalDue = min(arrivalDue ?? end, max(end, now.advanced(by: .microseconds(1))))
    }

    /// What waits for its time says when that is.
    mutating func updateDeadline() {
        if ledger.isEmpty { arrivalDue = nil }
        guard !pending.isEmpty || !effects.isEmpty || arrivalDue != nil || !registry.apps.held.isEmpty else {
            deadline = nil
            return
        }
        let due = pending.due.map { max($0, notBefore) }
        deadline = Instant.first(
            Instant.first(due, effects.first?.due), Instant.first(arrivalDue, registry.apps.due))
    }

    mutating func forgetArrivals() { arrivalDue = nil }
}

extension Instant {
    fileprivate static func first(_ one: Instant?, _ other: Instant?) -> Instant? {
        guard let one, let other else { return one ?? other }
        return min(one, other)
    }
}

/// Pushes that were handed out again, until they are answered: in the order in which they were.
struct RepeatWindow {
    private var order: [PendingKey] = []
    private var answers: [PendingKey: TransportAnswer] = [:]
    private var waiting: Set<PendingKey> = []
    private var taken = 0

    var isEmpty: Bool { order.isEmpty }

    mutating func append(_ key: PendingKey) {
        order.append(key)
        waiting.insert(key)
    }

    /// - Returns: Whether the answer was waited for here.
    mutating func settle(_ answer: TransportAnswer) -> Bool {
        guard !order.isEmpty,
            let key = waiting.remove(PendingKey(answer.id))
        else { return false }
        answers[key] = answer
        return true
    }

    /// The next one and its answer, if there is one.
    mutating func next() -> (PendingKey, TransportAnswer)? {
        guard taken < order.count, let answer = answers.removeValue(forKey: order[taken]) else { return nil }
        defer { if taken == order.count { (order, taken) = ([], 0) } }
        taken += 1
        return (order[taken - 1], answer)
    }
}
