import JSON
import PipelineKit
import Time

/// Handles the answers of transports. If a push must be tried again, the transport may say when. ``PendingPush`` says
/// when to give up.
///
/// The events that the stage writes for an answer depend on the answer, its time and the earlier events. From the next
/// wake on, but not before, the answer also influences which pushes the stage hands out.
extension DeliverStage {
    /// Writes the outcome of a push at a device, or an attempt if the push must wait. If the push replaces an older
    /// push, writes the `superseded` outcome of the older push first.
    ///
    /// - Parameter answer: The transport's answer. It is ignored unless the line's push was handed out.
    @inline(__always)
    mutating func write(
        _ line: OutcomeLedger.Line, of arrival: OutcomeLedger.Arrival, _ answer: TransportAnswer? = nil,
        at now: Instant, into out: inout Outbox
    ) {
        if let older = line.replaced { supersede(older, by: arrival.push, into: &out) }
        switch line.result {
        case .handedOut: if let answer { apply(answer, to: line, of: arrival, at: now, into: &out) }
        case .ended(let code): out.append { arrival.outcome.write(code, at: line.device, line.id, to: &$0) }
        case .held: hold(PendingPush(line, of: arrival), at: now, into: &out)
        }
    }

    @inline(__always)
    private mutating func apply(
        _ answer: TransportAnswer, to line: OutcomeLedger.Line, of arrival: OutcomeLedger.Arrival, at now: Instant,
        into out: inout Outbox
    ) {
        switch answer.outcome {
        case .failed,
            .accepted where registry.apps.isHealthy(line.device.appIndex):
            out.append { arrival.outcome.write(answer, at: line.device, line.id, to: &$0) }
        default: fold(answer, to: PendingPush(line, of: arrival), at: now, into: &out)
        }
    }

    /// Ends an older push, because a newer push with the same collapse ID replaces the older push.
    private mutating func supersede(_ key: PendingKey, by push: UInt64, into out: inout Outbox) {
        guard let older = pending.remove(key) else { return }
        var note = older.note(PushNote(.superseded))
        note.superseder = push
        write(note, of: older, into: &out)
    }

    /// Makes the push wait until its stopped app is resumed. If the app has been resumed since the push arrived, the
    /// push waits only for the next wake.
    private mutating func hold(_ push: PendingPush, at now: Instant, into out: inout Outbox) {
        let app = push.device.appIndex
        registry.apps[app].hold?.noteArrival(at: now)
        wait(push, PushNote(waiting: PendingPush.heldWord), into: &out)
        guard let waiting = pending[push.key] else { return }
        if registry.apps[app].hold == nil {
            pending.release(waiting, at: now.advanced(by: .microseconds(1)))
        } else {
            pending.hold(waiting, until: waiting.end(settings.retryFor, after: now))
        }
    }

    mutating func fold(
        _ answer: TransportAnswer, toPending key: PendingKey, at now: Instant, into out: inout Outbox
    ) {
        guard var push = pending.remove(key) else { return }
        push.awaitsAnswer = false
        if push.isNotice {
            fold(answer, toNotice: push, at: now, into: &out)
        } else {
            fold(answer, to: push, at: now, into: &out)
        }
    }

    private mutating func fold(
        _ answer: TransportAnswer, to push: PendingPush, at now: Instant, into out: inout Outbox
    ) {
        var push = push
        push.add(answer)
        let receivedAt = answer.receivedAt ?? now
        switch answer.outcome {
        case .accepted: accept(answer, push, receivedAt, into: &out)
        case .failed: fail(answer, push, receivedAt, into: &out)
        case .deferred: postpone(answer, push, receivedAt, into: &out)
        case .unregistered: unregister(answer, push, receivedAt, into: &out)
        case .unknownAddress: suspect(answer, push, receivedAt, into: &out)
        case .stopped: stop(answer, push, receivedAt, into: &out)
        }
    }

    private mutating func accept(
        _ answer: TransportAnswer, _ push: PendingPush, _ receivedAt: Instant, into out: inout Outbox
    ) {
        var note = push.note(PushNote(.accepted), answered: answer)
        let app = push.device.appIndex
        if !registry.apps.isHealthy(app) {
            let state = registry.apps[app]
            if state.hold != nil || state.scheduledHolds > 0 { schedule(.resume(app: app), receivedAt, &note) }
            if state.hold != nil, state.seemsMisconfigured { reportRecovery(of: app, into: &out) }
            // If the device was a suspect itself, the transport has rejected valid addresses. Then the addresses of the
            // other suspects may be valid too.
            if !state.suspects.contains(where: { $0.device.isSame(as: push.device) }) {
                for suspect in state.suspects { schedule(.retire(suspect), receivedAt, &note) }
            }
            registry.apps[app].suspects = []
            registry.apps[app].hasAccepted = true
        }
        write(note, of: push, into: &out)
    }

    private mutating func fail(
        _ answer: TransportAnswer, _ push: PendingPush, _ receivedAt: Instant, into out: inout Outbox
    ) {
        var note = push.note(PushNote(.failed), answered: answer)
        resumeIfProbed(by: push, receivedAt, &note)
        write(note, of: push, into: &out)
    }

    private mutating func postpone(
        _ answer: TransportAnswer, _ push: PendingPush, _ receivedAt: Instant, into out: inout Outbox
    ) {
        var push = push
        let until = max(
            answer.until ?? receivedAt.advanced(by: Self.standardDelay), receivedAt.advanced(by: Self.leastDelay))
        var note = PushNote(waiting: answer.outcome.rawValue)
        note.receivedAt = receivedAt
        note.until = until
        resumeIfProbed(by: push, receivedAt, &note)
        if push.headers.isForOneAttempt, push.attempts > 0 {
            var end = push.note(PushNote(.expired), answered: answer)
            end.receivedAt = note.receivedAt
            return write(end, of: push, into: &out)
        }
        push.due = min(until.wholeSecond, push.end(settings.retryFor, after: receivedAt))
        wait(push, note, answered: answer, into: &out)
    }

    private static let standardDelay = Duration.seconds(60)
    /// The shortest wait before a retry, even if the transport asks for an immediate retry.
    private static let leastDelay = Duration.seconds(1)

    private mutating func unregister(
        _ answer: TransportAnswer, _ push: PendingPush, _ receivedAt: Instant, into out: inout Outbox
    ) {
        var note = push.note(PushNote(.unregistered), answered: answer)
        if answer.isWithdrawal {
            resumeIfProbed(by: push, receivedAt, &note)
            return write(note, of: push, into: &out)
        }
        let since = answer.since ?? receivedAt
        note.registered = push.device.registered
        note.since = cameUndatedAtRegistration(answer, push, receivedAt) ? nil : since
        // An answer without `since` says that the address is invalid now, so it holds for this registration. A `since`
        // before the registration may be outdated.
        let isAfterRegistration = answer.since == nil || since > push.device.registered
        if isAfterRegistration || push.lastHandedOut >= push.device.registered.advanced(by: Self.registrationTrust) {
            schedule(.retire(retirement(push, answer, since)), receivedAt, &note)
        }
        resumeIfProbed(by: push, receivedAt, &note)
        write(note, of: push, into: &out)
    }

    /// Whether the answer has no `since` and has the same time as the registration, because the stage's clock did not
    /// move on in between. The outcome then has no `since` either.
    ///
    /// Earlier versions did not retire the device after such an answer, and wrote the answer's time into the outcome's
    /// `since`. A replay of their logs takes this `since` for the transport's, so it does not retire the device either.
    private func cameUndatedAtRegistration(_ answer: TransportAnswer, _ push: PendingPush, _ receivedAt: Instant)
        -> Bool
    {
        answer.since == nil && receivedAt <= push.device.registered
    }

    /// An answer may say that a token became invalid before the device was registered. The stage then retires the
    /// device only if the push was handed out at least this long after the registration.
    private static let registrationTrust = Duration.seconds(86_400)

    private func retirement(_ push: PendingPush, _ answer: TransportAnswer, _ since: Instant) -> Retirement {
        Retirement(
            device: push.device, push: push.push, status: answer.status, reason: answer.reason, since: since)
    }

    private mutating func suspect(
        _ answer: TransportAnswer, _ push: PendingPush, _ receivedAt: Instant, into out: inout Outbox
    ) {
        let app = push.device.appIndex
        let hasAccepted = registry.apps[app].hasAccepted
        var note = push.note(PushNote(hasAccepted ? .unregistered : .failed), answered: answer)
        note.receivedAt = receivedAt
        if hasAccepted {
            (note.since, note.registered) = (receivedAt, push.device.registered)
            schedule(.retire(retirement(push, answer, receivedAt)), receivedAt, &note)
        } else {
            registry.apps[app].suspect(retirement(push, answer, receivedAt))
        }
        if registry.apps[app].seemsMisconfigured {
            scheduleHold(of: app, status: nil, reason: Self.suspicion, after: push, receivedAt, &note)
        } else {
            resumeIfProbed(by: push, receivedAt, &note)
        }
        write(note, of: push, into: &out)
    }

    static let suspicion =
        "the push service does not know \(AppState.suspectsMax) devices and has accepted no push of the app yet: "
        + "is the environment or the topic wrong?"

    private mutating func stop(
        _ answer: TransportAnswer, _ push: PendingPush, _ receivedAt: Instant, into out: inout Outbox
    ) {
        var note = PushNote(waiting: PendingPush.heldWord)
        scheduleHold(
            of: push.device.appIndex, status: answer.status, reason: answer.reason, after: push, receivedAt, &note)
        wait(push, note, answered: answer, into: &out)
    }

    private mutating func scheduleHold(
        of app: Int, status: Int?, reason: String?, after push: PendingPush, _ receivedAt: Instant,
        _ note: inout PushNote
    ) {
        let wasProbe = registry.apps[app].hold?.probe == push.key
        registry.apps[app].scheduledHolds += 1
        schedule(.hold(app: app, status: status, reason: reason, wasProbe: wasProbe), receivedAt, &note)
    }

    /// Schedules the end of the hold if the push was the app's probe. Every answer to a probe ends the hold, with two
    /// exceptions: `stopped`, and an unknown address while ``AppState/seemsMisconfigured`` is true for the app.
    private mutating func resumeIfProbed(by push: PendingPush, _ receivedAt: Instant, _ note: inout PushNote) {
        let app = push.device.appIndex
        guard registry.apps[app].hold?.probe == push.key else { return }
        schedule(.resume(app: app), receivedAt, &note)
    }

    private mutating func schedule(_ effect: Effect, _ receivedAt: Instant, _ note: inout PushNote) {
        schedule(ScheduledEffect(effect, after: receivedAt))
        note.receivedAt = receivedAt
    }

    /// Inserts the effect after all effects that are due earlier or at the same time.
    mutating func schedule(_ effect: ScheduledEffect) {
        effects.insert(effect, at: (effects.lastIndex { $0.due <= effect.due } ?? -1) + 1)
    }

    // MARK: Writing

    func write(_ note: PushNote, of push: PendingPush, into out: inout Outbox) {
        out.append { push.outcome.write(note, at: push.device, push.id, to: &$0) }
    }

    /// Makes the push wait, and writes an attempt. Writes an outcome instead if too many pushes wait already, or if a
    /// newer push replaces the push and the transport does not have the push.
    mutating func wait(
        _ push: PendingPush, _ note: PushNote, answered answer: TransportAnswer? = nil, into out: inout Outbox
    ) {
        let attempt = push.note(note, answered: answer)
        var push = push
        push.superseder = push.superseder ?? pending.successor(of: push)?.push
        if let newer = push.superseder, !push.isStillAtTransport {
            return drop(push, for: newer, attempt, answer, into: &out)
        }
        guard pending.count < settings.pendingMax else { return refuse(push, attempt, answer, into: &out) }
        if note.word == PendingPush.heldWord {
            push.isHeld = true
            push.due = push.end(settings.retryFor, after: note.receivedAt)
        }
        pending.insert(push)
        write(attempt, of: push, into: &out)
    }

    /// Ends a push that would have to wait, because a newer push with the same collapse ID replaces it.
    private func drop(
        _ push: PendingPush, for newer: UInt64, _ attempt: PushNote, _ answer: TransportAnswer?,
        into out: inout Outbox
    ) {
        var note = push.note(PushNote(.superseded), answered: answer)
        (note.superseder, note.receivedAt, note.until) = (newer, attempt.receivedAt, attempt.until)
        write(note, of: push, into: &out)
    }

    /// Ends a push that would have to wait, because too many pushes wait already.
    func refuse(
        _ push: PendingPush, _ attempt: PushNote, _ answer: TransportAnswer?, into out: inout Outbox
    ) {
        var refusal = push.note(PushNote(.failed), answered: answer)
        refusal.said = answer.map { $0.reason ?? "" }
        refusal.reason = "\(settings.pendingMax) pushes wait already, the limit in pendingMax"
        (refusal.receivedAt, refusal.until) = (attempt.receivedAt, attempt.until)
        write(refusal, of: push, into: &out)
    }
}

extension PendingPush {
    static let heldWord = "held"
}

extension AppState {
    /// Adds the device to the suspects, unless the device is a suspect already or the list is full.
    fileprivate mutating func suspect(_ retirement: Retirement) {
        guard suspects.count < AppState.suspectsMax,
            !suspects.contains(where: { $0.device.isSame(as: retirement.device) })
        else { return }
        suspects.append(retirement)
    }
}

extension Instant {
    /// This time rounded up to a whole second, so that one wake handles all pushes that are due within a second.
    var wholeSecond: Instant {
        let second: Int64 = 1_000_000
        return Instant(
            microseconds: min((microseconds + second - 1) / second * second, Instant.distantFuture.microseconds))
    }
}
