import JSON
import PipelineKit
import Time

/// What the stage does when its deadline comes, and how it hands out unanswered pushes again after a restart.
extension DeliverStage {
    /// A wake hands out no further due push after this many bytes of deliveries. The next wake continues with the rest.
    private static let handOutBytesMax = 1 << 20

    package mutating func wake(at now: Instant, into out: inout Outbox) {
        applyEffects(through: now, into: &out)
        handOutDue(at: now, into: &out)
        for app in registry.apps.held { probe(app, at: now, into: &out) }
        updateDeadline()
    }

    private mutating func applyEffects(through now: Instant, into out: inout Outbox) {
        let due = effects.prefix { $0.due <= now }
        effects.removeFirst(due.count)
        for scheduled in due {
            switch scheduled.effect {
            case .retire(let retirement): retire(retirement, at: now, into: &out)
            case .hold(let app, let status, let reason, let wasProbe):
                hold(app, status, reason, wasProbe, at: now, into: &out)
            case .resume(let app): resume(app, at: now, into: &out)
            case .resumeAfterSettingsChange(let app):
                schedule(ScheduledEffect(.resume(app: app), after: now.advanced(by: .seconds(1))))
            }
        }
    }

    /// Retires the device, unless it was registered again or unregistered in the meantime.
    private mutating func retire(_ retirement: Retirement, at now: Instant, into out: inout Outbox) {
        guard registry.retire(retirement.device) else { return }
        out.append { retirement.write(to: &$0) }
        withdraw(as: .unregistered, reason: Self.goneMeanwhile, into: &out) { $0.isSame(as: retirement.device) }
        if settings.retired != nil { enqueue(RetirementNotice(retirement, upstream, at: now), into: &out) }
    }

    /// Withdraws the unanswered pushes to the devices for which `isIncluded` is true, except notices, the probes of
    /// apps, and pushes that are ``PendingPush/isStillAtTransport``. A withdrawal has no effect on a push that has
    /// already left the host's queue: this push gets the transport's answer.
    private func withdraw(
        as outcome: TransportAnswer.Outcome, status: Int? = nil, reason: String?, into out: inout Outbox,
        where isIncluded: (Device) -> Bool
    ) {
        let repeats = pending.awaitingAnswerInOrder.filter { push in
            !push.isNotice && !push.isStillAtTransport && isIncluded(push.device)
                && registry.apps[push.device.appIndex].hold?.probe != push.key
        }
        for delivery in repeats.map(\.delivery) + ledger.deliveries(where: isIncluded) {
            out.withdraw(as: TransportAnswer(delivery.id, outcome, status: status, reason: reason, attempts: 0))
        }
    }

    // MARK: Apps

    private mutating func hold(
        _ app: Int, _ status: Int?, _ reason: String?, _ wasProbe: Bool, at now: Instant, into out: inout Outbox
    ) {
        registry.apps[app].scheduledHolds -= 1
        if registry.apps[app].hold == nil {
            registry.apps.hold(app, AppHold(at: now))
            withdraw(as: .stopped, status: status, reason: reason, into: &out) { $0.appIndex == app }
            if reason == Self.suspicion { reportSuspicion(of: app, into: &out) }
        } else if wasProbe {
            registry.apps[app].hold?.postpone(at: now)
        } else {
            return
        }
        guard let probeAt = registry.apps[app].hold?.probeAt else { return }
        let key = registry.apps.keys[app]
        out.append { key.writeStopped(status: status, reason: reason, probeAt: probeAt, to: &$0) }
    }

    private mutating func resume(_ app: Int, at now: Instant, into out: inout Outbox) {
        guard registry.apps[app].hold != nil else { return }
        registry.apps.release(app)
        let waiting = pending.held(of: app)
        for push in waiting { pending.release(push, at: now) }
        let key = registry.apps.keys[app]
        out.append { key.writeResumed(waiting: waiting.count, to: &$0) }
    }

    /// Sends the first held push of a stopped app, if it is time for a probe.
    private mutating func probe(_ app: Int, at now: Instant, into out: inout Outbox) {
        guard let due = registry.apps[app].hold?.due, due <= now else { return }
        guard let push = firstHeld(of: app, at: now, into: &out) else {
            registry.apps[app].hold?.hasWaiting = false
            return
        }
        registry.apps[app].hold?.probe = push.key
        handOut(push, at: now, into: &out)
    }

    /// The first held push that can be the app's probe; nil if there is no such push.
    ///
    /// Unless `retryTo` is `first`, this function checks all held pushes of the app, also those after the one that it
    /// returns. A held push ends if ``readdressed(_:)`` returns nil for it, and is released if its device is now
    /// registered for another app or transport.
    private mutating func firstHeld(of app: Int, at now: Instant, into out: inout Outbox) -> PendingPush? {
        guard settings.retryTo != .first else { return pending.held(of: app).first }
        var first: PendingPush?
        for held in pending.held(of: app) {
            guard let push = readdressed(held) else {
                abandon(held, into: &out)
                continue
            }
            if push.device.appIndex == app {
                first = first ?? push
            } else {
                pending.release(push, at: now.advanced(by: .microseconds(1)))
            }
        }
        return first
    }

    // MARK: Pushes

    /// The push, readdressed to the current registration of its device if `retryTo` allows that. If the device is gone,
    /// or must not get the push because it is registered for another app: the unchanged push if the transport still has
    /// it, otherwise nil.
    private func readdressed(_ push: PendingPush) -> PendingPush? {
        guard settings.retryTo != .first, !push.isNotice else { return push }
        guard let device = currentDevice(of: push) else { return push.isStillAtTransport ? push : nil }
        return push.moved(to: device)
    }

    /// The current registration of the push's device. Nil if the device is gone, or if it is registered for another app
    /// and `retryTo` is `same-app`.
    private func currentDevice(of push: PendingPush) -> Device? {
        guard let device = registry.current(push.device) else { return nil }
        return settings.retryTo == .sameApp && device.isOfOtherApp(than: push.device) ? nil : device
    }

    private mutating func abandon(_ push: PendingPush, into out: inout Outbox) {
        pending.remove(push.key)
        var note = push.note(PushNote(.unregistered))
        let isGone = registry.current(push.device) == nil
        (note.status, note.reason) = (nil, isGone ? Self.goneMeanwhile : Self.movedMeanwhile)
        write(note, of: push, into: &out)
    }

    private static let goneMeanwhile = "the device was unregistered while the push waited"
    private static let movedMeanwhile = "the device was registered for another app while the push waited"

    private mutating func handOutDue(at now: Instant, into out: inout Outbox) {
        let start = out.deliveryBytes
        while let push = pending.first(dueBy: now) {
            guard out.deliveryBytes - start < Self.handOutBytesMax else {
                notBefore = now.advanced(by: .microseconds(1))
                return
            }
            guard let push = readdressed(push) else {
                abandon(push, into: &out)
                continue
            }
            if let note = end(of: push, at: now) {
                pending.remove(push.key)
                write(note, of: push, into: &out)
            } else if !push.isNotice, !push.isStillAtTransport, registry.apps.isHeld(push.device.appIndex) {
                pending.hold(push, until: push.end(settings.retryFor, after: now))
                registry.apps[push.device.appIndex].hold?.noteArrival(at: now)
            } else {
                handOut(push, at: now, into: &out)
            }
        }
    }

    /// The note for the outcome of a due push that ends now; nil if the push does not end.
    private func end(of push: PendingPush, at now: Instant) -> PushNote? {
        let hasTransport = push.isNotice ? settings.retired != nil : push.device.hasTransport
        if !hasTransport { return push.note(PushNote(.unknownTransport)) }
        guard push.end(settings.retryFor, after: nil) <= now else { return nil }
        if push.headers.isExpired(at: now) { return push.note(PushNote(.expired)) }
        var note = push.note(PushNote(.failed))
        if note.reason == nil { note.reason = "it waited for longer than retryFor" }
        return note
    }

    /// Whether the next delivery only queries the push's status: the transport still has the push, and must not send it
    /// again.
    private func isStatusQuery(_ push: PendingPush, at now: Instant) -> Bool {
        guard push.isStillAtTransport else { return false }
        if settings.retryTo != .first, !push.isNotice, currentDevice(of: push) == nil { return true }
        return push.superseder != nil || push.sendDeadline(settings.retryFor) <= now
            || !push.isNotice && registry.apps.isHeld(push.device.appIndex)
    }

    private mutating func handOut(_ push: PendingPush, at now: Instant, into out: inout Outbox) {
        out.deliver(delivery(of: push, at: now))
        pending.noteHandedOut(push, at: now)
    }

    private func delivery(of push: PendingPush, at now: Instant) -> Delivery {
        var delivery = push.delivery
        delivery.isStatusQuery = isStatusQuery(push, at: now)
        return delivery
    }

    package func handOutAgain(at now: Instant, into out: inout Outbox) {
        let repeats = pending.awaitingAnswerInOrder.map { ($0.key, delivery(of: $0, at: now)) }
        let first = ledger.deliveries().map { (PendingKey($0.id), $0) }
        for (_, delivery) in (repeats + first).sorted(by: { $0.0 < $1.0 }) { out.deliver(delivery) }
        withdrawUndeliverable(into: &out)
    }

    /// Withdraws deliveries to devices that are gone and to apps that are stopped. They were handed out before the
    /// restart, so the log must get an answer for each of them: the withdrawal is this answer.
    private func withdrawUndeliverable(into out: inout Outbox) {
        withdraw(as: .unregistered, reason: Self.goneMeanwhile, into: &out) { registry.current($0) == nil }
        guard !registry.apps.held.isEmpty else { return }
        withdraw(as: .stopped, reason: "the app is stopped", into: &out) {
            registry.current($0) != nil && registry.apps.isHeld($0.appIndex)
        }
    }
}

extension TransportAnswer {
    /// Whether the push was withdrawn before it reached a transport, because its device is gone.
    var isWithdrawal: Bool { outcome == .unregistered && attempts == 0 && since == nil }
}
