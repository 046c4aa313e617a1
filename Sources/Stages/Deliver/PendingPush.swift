import Events
import JSON
import PipelineKit
import Time

/// A waiting push at one device. It waits for another attempt, for a later answer of the transport, or until its app is
/// resumed. A notice for the app's backend waits in the same form.
struct PendingPush {
    /// The sequence of the push. For a notice: the sequence of the push that retired the device.
    let push: UInt64
    /// The device as it was registered when the push came, or as it was registered again later.
    var device: Device
    let id: PositionID
    let outcome: OutcomeText
    var head: [UInt8]
    let rest: [UInt8]
    /// See ``PipelineKit/Delivery/unpruned``.
    let unpruned: [UInt8]?
    /// When the push arrived.
    let arrived: Instant
    let headers: PushHeaders
    /// When the push was last handed out. If it was never handed out: when it arrived.
    var lastHandedOut: Instant
    var attempts = 0
    var mayRepeat = false
    /// Whether the transport still has the push, according to its last answer. Then only the transport knows the
    /// outcome.
    var isStillAtTransport = false
    /// Whether the push was handed out since it began to wait, and has no answer yet.
    var awaitsAnswer = false
    /// The newer push with the same collapse ID. It replaces this push unless the transport has already sent this push.
    var superseder: UInt64?
    var status: Int?
    var reason: String?
    /// When to act on the push. Nil while the push is handed out. Also nil once a newer push replaces the push, unless
    /// the transport still has the push: then its status is queried at this time.
    var due: Instant?
    var isHeld = false

    init(_ line: OutcomeLedger.Line, of arrival: OutcomeLedger.Arrival) {
        (push, device, id, outcome) = (arrival.push, line.device, line.id, arrival.outcome)
        (head, rest) = (line.delivery?.head ?? [], line.delivery?.rest ?? [])
        unpruned = line.delivery?.unpruned
        (arrived, lastHandedOut) = (arrival.time, arrival.time)
        superseder = line.superseder
        headers = PushHeaders(head: head, rest: rest)
    }

    /// Makes a pending push from a notice. The push is due at once.
    init(_ notice: RetirementNotice) {
        (push, device, id, outcome) = (notice.retirement.push, notice.retirement.device, notice.id, notice.outcome)
        (head, rest, unpruned) = (notice.body, [], nil)
        (arrived, lastHandedOut, due) = (notice.time, notice.time, notice.time)
        headers = PushHeaders(nil)
    }

    var isNotice: Bool { outcome.isOfNotice }

    var key: PendingKey { PendingKey(deliveryID) }

    private var deliveryID: Delivery.ID {
        Delivery.ID(push: push, device: device.name, retired: isNotice ? device.registered : nil)
    }

    var delivery: Delivery {
        var delivery = Delivery(
            id: deliveryID, transport: isNotice ? DeliverSettings.retiredName : device.transport, app: device.app,
            destination: isNotice ? 0 : device.identityHash, head: head, rest: rest, unpruned: unpruned)
        delivery.attempts = attempts
        return delivery
    }

    /// The same push, with the same `apns-id`, for a newer registration of its device.
    func moved(to device: Device) -> PendingPush {
        guard !device.isSame(as: self.device) else { return self }
        var push = self
        push.device = device
        push.head = PushLine.head(of: head + rest, for: device, id) ?? head
        return push
    }

    /// The key by which a newer push replaces this push; nil if no push can replace it.
    var collapseKey: [UInt8]? { headers.collapseID.map { device.collapseKey($0) } }

    /// When the push is given up.
    ///
    /// - Parameters:
    ///   - retryFor: How long after its arrival a push may still be sent.
    ///   - moment: A time that the result must be later than; nil if there is no such time.
    func end(_ retryFor: Duration, after moment: Instant?) -> Instant {
        let end = sendDeadline(retryFor).advanced(by: isStillAtTransport ? Self.lastAnswerWait : .zero)
        return moment.map { max(end, $0.advanced(by: .microseconds(1))) } ?? end
    }

    /// The time from which the push must not be sent any more.
    func sendDeadline(_ retryFor: Duration) -> Instant {
        min(headers.expiresAt ?? .distantFuture, arrived.advanced(by: retryFor))
    }

    /// If the transport still has a push at its ``sendDeadline(_:)``, deliver queries the push's status for this much
    /// longer.
    private static let lastAnswerWait = Duration.seconds(300)

    mutating func add(_ answer: TransportAnswer) {
        attempts += max(answer.attempts, 0)
        mayRepeat = mayRepeat || answer.mayRepeat
        isStillAtTransport = answer.outcome == .deferred && answer.isUnderWay
        (status, reason) = (answer.status ?? status, answer.reason ?? reason)
    }

    /// Completes a note with the push's attempts, and with the status and reason of the answer. Without an answer, the
    /// note gets the latest status and reason of the push.
    func note(_ note: PushNote, answered answer: TransportAnswer? = nil) -> PushNote {
        var note = note
        if let answer {
            if answer.outcome.rawValue != note.word { note.answer = answer.outcome.rawValue }
        } else if note.isFinal, TransportAnswer.Outcome(rawValue: note.word) != nil {
            note.answer = PushNote.noAnswer
        }
        (note.status, note.reason) = answer.map { ($0.status, $0.reason) } ?? (status, reason)
        // If the push ends while the transport still has it, its last attempt counts too: the push was sent, although
        // the result is unknown.
        note.attempts = attempts + (note.isFinal && isStillAtTransport ? 1 : 0)
        if let answer, answer.attempts != note.attempts { note.tries = answer.attempts }
        note.isUnderWay = answer?.isUnderWay ?? false
        (note.mayRepeat, note.receipt) = (mayRepeat, answer?.receipt)
        return note
    }
}

/// Identifies a push at a device, or a notice. Pushes that are due at the same time are sent in the order of their
/// keys.
struct PendingKey: Hashable, Comparable {
    let push: UInt64
    let device: ExactText
    /// For a notice: when the retired device was registered. Nil for a push.
    var retired: Instant?

    init(push: UInt64, device: String) { (self.push, self.device) = (push, ExactText(device)) }

    init(_ id: Delivery.ID) { (push, device, retired) = (id.push, ExactText(id.device), id.retired) }

    static func < (left: PendingKey, right: PendingKey) -> Bool {
        (left.push, left.device, left.retired ?? .epoch) < (right.push, right.device, right.retired ?? .epoch)
    }
}

/// The headers of a push that decide how long the push waits and which push can replace it.
struct PushHeaders {
    /// The time from which the push is too old to be sent; nil if there is no such time.
    var expiresAt: Instant?
    /// Whether the push gets only one attempt: `apns-expiration` is 0.
    var isForOneAttempt = false
    var collapseID: [UInt8]?

    /// Reads the headers from the two parts of a delivery.
    init(head: [UInt8], rest: [UInt8]) {
        var reader = PushReader()
        do throws(JSONError) { self = try reader.read(head, rest) { PushHeaders($0.headers?.value) } } catch {
            self.init(nil)
        }
    }

    init(_ headers: JSONValue?) {
        guard let headers else { return }
        let secondsEnd = Instant.distantFuture.microseconds / 1_000_000
        if let seconds = DeliveredPush.expiration(headers), (0..<secondsEnd).contains(seconds) {
            isForOneAttempt = seconds == 0
            expiresAt = seconds > 0 ? Instant(microseconds: seconds * 1_000_000) : nil
        }
        collapseID = headers[.apnsCollapseID]?.withUTF8 { $0.isEmpty ? nil : Array($0) } ?? nil
    }

    func isExpired(at now: Instant) -> Bool { expiresAt.map { $0 <= now } ?? false }
}
