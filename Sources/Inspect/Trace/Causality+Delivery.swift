import Events
import JSON

/// The events that deliver writes beside outcomes: retired devices, notices to an app's backend, and stopped apps.
extension Causality {
    /// The effects that an event of deliver's log has in the same log.
    func deliveryEffects(of event: TraceEvent) throws -> [TraceEvent] {
        guard let log = logs.log(named: event.log), log.role == .making(.outcomes) else { return [] }
        switch event.type {
        case EventName.outcome: return try retirement(by: event, in: log)
        case EventName.deviceRetired: return try notices(of: event, in: log)
        case EventName.attempt where event.facts.outcome == "held": return try stop(of: event, in: log)
        case EventName.appStopped: return try resumption(of: event, in: log)
        default: return []
        }
    }

    /// The outcome that led to a retired device or to a notice: the newest earlier outcome of the same push and device.
    func outcome(behind event: TraceEvent) throws -> TraceEvent? {
        guard let log = logs.log(named: event.log), let push = event.facts.push else { return nil }
        let range = 1...event.sequence
        return try logs.events(TraceKey(.push, push), in: log, range: range, newestFirst: true, limit: 1) { facts in
            facts.type == EventName.outcome.description && facts.isSameDevice(as: event.facts)
        }.first
    }

    private func retirement(by outcome: TraceEvent, in log: TracedLog) throws -> [TraceEvent] {
        guard let push = outcome.facts.push else { return [] }
        return try logs.events(TraceKey(.push, push), in: log, range: outcome.sequence...UInt64.max, limit: 1) {
            facts in
            facts.type == "device.retired" && facts.isSameDevice(as: outcome.facts)
        }
    }

    private func notices(of retired: TraceEvent, in log: TracedLog) throws -> [TraceEvent] {
        guard let push = retired.facts.push else { return [] }
        return try logs.events(TraceKey(.push, push), in: log, range: retired.sequence...UInt64.max) { facts in
            facts.type.hasPrefix("notice.") && facts.isSameDevice(as: retired.facts)
                && facts.registered == retired.facts.registered
        }
    }

    // MARK: Apps

    /// The `app.stopped` event that a held push caused, or that caused deliver to hold the push.
    private func stop(of held: TraceEvent, in log: TracedLog) throws -> [TraceEvent] {
        guard let app = try app(of: held) else { return [] }
        let before = try logs.events(
            TraceKey(.app, 0), in: log, range: 1...held.sequence, newestFirst: true, limit: 1, where: app.isSubject
        ).filter { $0.type == "app.stopped" }
        // If the answer to this push stopped the app, deliver wrote `app.stopped` after this event: it stops an app in
        // a separate wake after the answer.
        let later = try logs.events(
            TraceKey(.app, 0), in: log, range: held.sequence...UInt64.max, limit: 1, where: app.isSubject)
        return held.facts.answer == "stopped" || before.isEmpty ? later.filter { $0.type == "app.stopped" } : before
    }

    private func resumption(of stop: TraceEvent, in log: TracedLog) throws -> [TraceEvent] {
        let app = AppIdentity(stop.facts)
        return try logs.events(TraceKey(.app, 0), in: log, range: stop.sequence...UInt64.max, limit: 1) { facts in
            facts.type == "app.resumed" && app.isSubject(of: facts)
        }
    }

    /// The app of a held push. The container is in the push, and the topic in the device's registration.
    private func app(of held: TraceEvent) throws -> AppIdentity? {
        guard let log = logs.log(named: held.log), let upstream = log.upstream, let number = held.facts.push,
            let push = try logs.event(at: EventPlace(log: upstream, sequence: number)), let user = held.facts.user
        else { return nil }
        let registrations = try logs.deviceEvents(of: user).filter {
            $0.type == "device.register" && $0.facts.isSameDevice(as: held.facts) && $0.now <= held.now
                && $0.facts.container == push.facts.container && $0.facts.environment == push.facts.environment
        }
        guard let device = registrations.last else { return nil }
        return AppIdentity(device.facts)
    }
}

/// The members that identify an app that deliver stops and resumes.
private struct AppIdentity: Equatable {
    let container: ExactText?
    let environment: ExactText?
    let transport: String?
    let topic: ExactText?

    init(_ facts: EventFacts) {
        (container, environment) = (facts.container, facts.environment)
        (transport, topic) = (facts.transport, facts.topic)
    }

    func isSubject(of facts: EventFacts) -> Bool { facts.isApp && AppIdentity(facts) == self }
}

extension EventFacts {
    fileprivate func isSameDevice(as other: EventFacts) -> Bool { device == other.device && user == other.user }
}
