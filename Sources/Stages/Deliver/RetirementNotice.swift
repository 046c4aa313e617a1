import Events
import JSON
import PipelineKit
import Time

/// Tells the app's backend that a device was retired, so that the backend forgets the device's token.
///
/// A notice waits and is sent like a push, through a transport of its own, and ends in one `notice.outcome`. Its
/// identifier depends on the push that retired the device and on the registration, so a repeat is recognisable. The
/// notice contains the invalid token. If the notice contained only user and device, a backend could delete a newer
/// token by mistake.
struct RetirementNotice {
    let retirement: Retirement
    let id: PositionID
    let time: Instant

    /// - Parameter upstream: The identity of the pushes log.
    init(_ retirement: Retirement, _ upstream: LogIdentity, at time: Instant) {
        (self.retirement, self.time) = (retirement, time)
        let device = retirement.device
        let words = [device.name, "retired", device.registered.rfc3339]
        id = upstream.uuid(position: retirement.push, salt: FNV.hash(words.joined(separator: "\0").utf8))
    }

    var outcome: OutcomeText { OutcomeText(noticeOf: retirement) }

    /// The JSON for the backend, with `type`, `timestamp` and `data` as in Standard Webhooks 1.0.0 ("Payload
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
    /// Adds a notice, which is due at once. If too many pushes wait already, the notice ends as `failed`.
    mutating func enqueue(_ notice: RetirementNotice, into out: inout Outbox) {
        let push = PendingPush(notice)
        guard pending.count < settings.pendingMax else {
            return refuse(push, PushNote(waiting: PendingPush.heldWord), nil, into: &out)
        }
        pending.insert(push)
    }

    /// Handles the answer to a notice. Unlike the answer to a push, the answer to a notice has no effect on the
    /// device's app.
    mutating func fold(
        _ answer: TransportAnswer, toNotice push: PendingPush, at now: Instant, into out: inout Outbox
    ) {
        var push = push
        push.add(answer)
        switch answer.outcome {
        case .accepted: write(push.note(PushNote(.accepted), answered: answer), of: push, into: &out)
        case _ where answer.isFinal: write(push.note(PushNote(.failed), answered: answer), of: push, into: &out)
        default: postpone(answer, notice: push, answer.receivedAt ?? now, into: &out)
        }
    }

    /// Makes the notice wait for a retry. The pause is as long as the notice has already waited, but at least a second
    /// and at most an hour. If the answer asks for a later retry, the notice waits until then. The stage must retry,
    /// because a transport gives up within seconds, and the backend may take longer to restart.
    private mutating func postpone(
        _ answer: TransportAnswer, notice push: PendingPush, _ receivedAt: Instant, into out: inout Outbox
    ) {
        var push = push
        let pause = min(max(receivedAt - push.arrived, Self.firstPause), Self.lastPause)
        let until = max(answer.until ?? .epoch, receivedAt.advanced(by: pause))
        var note = PushNote(waiting: TransportAnswer.Outcome.deferred.rawValue)
        (note.receivedAt, note.until) = (receivedAt, until)
        push.due = min(until.wholeSecond, push.end(settings.retryFor, after: receivedAt))
        wait(push, note, answered: answer, into: &out)
    }

    private static let firstPause = Duration.seconds(1)
    private static let lastPause = Duration.seconds(3_600)
}

extension TransportAnswer {
    /// Whether the answer ends the notice: the backend accepted or permanently rejected the notice, or the transport
    /// failed without an attempt. A server error, a timeout, "too early", a rate limit and a missing answer are not
    /// final (RFC 9110, sections 15.5.9 and 15.6; RFC 8470, section 5.2; RFC 6585, section 4).
    fileprivate var isFinal: Bool {
        switch outcome {
        case .accepted, .unregistered, .unknownAddress: true
        case .deferred, .stopped: false
        case .failed: status.map { $0 < 500 && ![408, 425, 429].contains($0) } ?? (attempts == 0)
        }
    }
}
