import Events
import JSON
import PipelineKit
import Time

/// Word of a retired device for the app's backend: what it needs to forget the token.
///
/// It waits and is handed out as a push is, to a transport of its own, and ends in one `notice.outcome`. Its identifier
/// follows from the push that retired the device and from the registration that ended, so a repeat is recognisable. The
/// token is in it: by user and device alone a backend could forget a newer one, and this one is of no use any more.
struct RetirementNotice {
    let retirement: Retirement
    let id: PositionID
    let time: Instant

    /// - Parameter upstream: The log of the pushes.
    init(_ retirement: Retirement, _ upstream: LogIdentity, at time: Instant) {
        (self.retirement, self.time) = (retirement, time)
        let device = retirement.device
        let words = [device.name, "retired", device.registered.rfc3339]
        id = upstream.uuid(position: retirement.push, salt: FNV.hash(words.joined(separator: "\0").utf8))
    }

    var outcome: OutcomeText { OutcomeText(noticeOf: retirement) }

    /// What the backend gets. `type`, `timestamp` and `data` are where Standard Webhooks 1.0.0 has them ("Payload
    /// structure").
    var body: [UInt8] {
        let device = retirement.device
        var body = ByteBuffer(capacity: 512)
        body.append("{\"id\":")
        body.appendJSON(id)
        body.append(.type, word: EventName.deviceRetired)
        body.append("timestamp", time)
        body.append(member: "data")
        body.append(first: .container)
        body.appendJSON(device.app.container)
        body.append(.environment, device.app.environment)
        body.append(user: device.owner)
        device.writeNameAndToken(to: &body)
        body.append(.topic, device.app.topic)
        body.append(status: retirement.status, reason: retirement.reason)
        body.append(.since, retirement.since)
        body.append(.registered, device.registered)
        body.append(.push, Int(clamping: retirement.push))
        body.append("}}")
        return Array(body.bytes)
    }
}

extension DeliverStage {
    /// Keeps a notice, to be handed out by the wake that is under way.
    mutating func tell(_ notice: RetirementNotice, into out: inout Outbox) {
        let push = PendingPush(notice)
        guard pending.count < settings.pendingMax else {
            return refuse(push, PushNote(waiting: PendingPush.heldWord), nil, into: &out)
        }
        pending.insert(push)
    }

    /// What a backend says tells nothing of the device's app at its own transport.
    mutating func fold(
        _ answer: TransportAnswer, toNotice push: PendingPush, at now: Instant, into out: inout Outbox
    ) {
        var push = push
        push.add(answer)
        switch answer.outcome {
        case .accepted: write(push.note(PushNote(.accepted), answered: answer), of: push, into: &out)
        case _ where answer.isFinal: write(push.note(PushNote(.failed), answered: answer), of: push, into: &out)
        default: put(off: answer, notice: push, answer.taken ?? now, into: &out)
        }
    }

    /// A transport gives a push up within seconds, and the only word of a token may not end with a backend's restart: it
    /// is told again after a second, later after as long as it has waited, up to an hour.
    private mutating func put(
        off answer: TransportAnswer, notice push: PendingPush, _ taken: Instant, into out: inout Outbox
    ) {
        var push = push
        let pause = min(max(taken - push.came, Self.firstPause), Self.lastPause)
        let until = max(answer.until ?? .epoch, taken.advanced(by: pause))
        var note = PushNote(waiting: TransportAnswer.Outcome.deferred.rawValue)
        (note.taken, note.until) = (taken, until)
        push.due = min(until.wholeSecond, push.end(settings.retryFor, after: taken))
        wait(push, note, answered: answer, into: &out)
    }

    private static let firstPause = Duration.seconds(1)
    private static let lastPause = Duration.seconds(3_600)
}

extension TransportAnswer {
    /// Whether a backend has refused what it was told, and will again. Its own trouble, and silence, are none of that
    /// (RFC 9110, sections 15.5.9 and 15.6; RFC 6585, section 4).
    fileprivate var isFinal: Bool {
        switch outcome {
        case .accepted, .unregistered, .unknownAddress: true
        case .deferred, .stopped: false
        case .failed: status.map { $0 < 500 && ![408, 425, 429].contains($0) } ?? (attempts == 0)
        }
    }
}
