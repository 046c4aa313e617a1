import Events
import JSON
import PipelineKit
import Time

/// A push that waits for its device: to be handed out again, or for its app to be of use again. Or a notice of a
/// retired device, which waits for the app's backend.
struct PendingPush {
    let push: UInt64
    /// As it was when the push came, or when it was last handed out.
    var device: Device
    let id: PositionID
    let outcome: OutcomeText
    var head: [UInt8]
    let rest: [UInt8]
    /// When it came.
    let came: Instant
    let headers: WaitingHeaders
    /// When it was handed out last.
    var handedOut: Instant
    var attempts = 0
    var mayRepeat = false
    /// Whether a transport still has it, as it said when it was asked last. Then only it knows what became of the push.
    var isUnderWay = false
    /// Whether it was handed out, and is not answered.
    var isOut = false
    /// The newer push that takes its place, unless the transport has sent it.
    var superseder: UInt64?
    var status: Int?
    var reason: String?
    /// When something is to be done about it; nil while it is out, or a newer push takes its place.
    var due: Instant?
    var isHeld = false

    init(_ line: OutcomeLedger.Line, of origin: OutcomeLedger.Origin) {
        (push, device, id, outcome) = (origin.push, line.device, line.id, origin.outcome)
        (head, rest) = (line.delivery?.head ?? [], line.delivery?.rest ?? [])
        (came, handedOut) = (origin.time, origin.time)
        superseder = line.superseder
        headers = WaitingHeaders(head: head, rest: rest)
    }

    /// Begins to wait at once.
    init(_ notice: RetirementNotice) {
        (push, device, id, outcome) = (notice.retirement.push, notice.retirement.device, notice.id, notice.outcome)
        (head, rest) = (notice.body, [])
        (came, handedOut, due) = (notice.time, notice.time, notice.time)
        headers = WaitingHeaders(nil)
    }

    var isNotice: Bool { outcome.isOfNotice }

    var key: PendingKey { PendingKey(deliveryID) }

    private var deliveryID: Delivery.ID {
        Delivery.ID(push: push, device: device.name, retired: isNotice ? device.registered : nil)
    }

    var delivery: Delivery {
        var delivery = Delivery(
            id: deliveryID, transport: isNotice ? DeliverSettings.retiredName : device.transport, app: device.app,
            destination: isNotice ? 0 : device.number, head: head, rest: rest, unpruned: nil)
        delivery.attempts = attempts
        return delivery
    }

    /// The same push, under the same identifier, for what its device has registered since.
    func moved(to device: Device) -> PendingPush {
        guard !device.isSame(as: self.device) else { return self }
        var push = self
        push.device = device
        push.head = PushLine.head(of: head + rest, for: device, id) ?? head
        return push
    }

    /// What no two pushes that wait share; nil where nothing replaces the push.
    var collapseKey: [UInt8]? { headers.collapseID.map { device.collapseKey($0) } }

    /// When it has waited for long enough.
    ///
    /// - Parameters:
    ///   - retryFor: The longest that a push may wait.
    ///   - moment: The time is later than that.
    func end(_ retryFor: Duration, after moment: Instant?) -> Instant {
        let end = lastMoment(retryFor).advanced(by: isUnderWay ? Self.lastAnswerWait : .zero)
        return moment.map { max(end, $0.advanced(by: .microseconds(1))) } ?? end
    }

    /// When it is sent no more.
    func lastMoment(_ retryFor: Duration) -> Instant {
        min(headers.expiresAt ?? .distantFuture, came.advanced(by: retryFor))
    }

    /// So much later the answer to what is under way is still asked for.
    private static let lastAnswerWait = Duration.seconds(300)

    /// Whether it is too old to be sent.
    func isExpired(at now: Instant) -> Bool { headers.expiresAt.map { $0 <= now } ?? false }

    mutating func add(_ answer: TransportAnswer) {
        attempts += max(answer.attempts, 0)
        mayRepeat = mayRepeat || answer.mayRepeat
        isUnderWay = answer.outcome == .deferred && answer.isUnderWay
        (status, reason) = (answer.status ?? status, answer.reason ?? reason)
    }

    /// What is known of it, as far as it is not for the event's kind to say.
    func note(_ note: PushNote, answered answer: TransportAnswer? = nil) -> PushNote {
        var note = note
        if let answer {
            if answer.outcome.rawValue != note.word { note.answer = answer.outcome.rawValue }
        } else if note.isFinal, TransportAnswer.Outcome(rawValue: note.word) != nil {
            note.answer = PushNote.noAnswer
        }
        (note.status, note.reason) = answer.map { ($0.status, $0.reason) } ?? (status, reason)
        // What is under way has been sent, though nobody knows any more what became of that.
        note.attempts = attempts + (note.isFinal && isUnderWay ? 1 : 0)
        if let answer, answer.attempts != note.attempts { note.tries = answer.attempts }
        note.isUnderWay = answer?.isUnderWay ?? false
        (note.mayRepeat, note.receipt) = (mayRepeat, answer?.receipt)
        return note
    }
}

/// Which push at which device; in the order in which pushes go out.
struct PendingKey: Hashable, Comparable {
    var push: UInt64
    var device: String
    /// Set for the notice that the device was retired.
    var retired: Instant?

    init(push: UInt64, device: String) { (self.push, self.device) = (push, device) }

    init(_ id: Delivery.ID) { (push, device, retired) = (id.push, id.device, id.retired) }

    static func < (left: PendingKey, right: PendingKey) -> Bool {
        if left.push != right.push { return left.push < right.push }
        guard left.device.utf8.elementsEqual(right.device.utf8) else {
            return left.device.utf8.lexicographicallyPrecedes(right.device.utf8)
        }
        return left.retired ?? .epoch < right.retired ?? .epoch
    }

    static func == (left: PendingKey, right: PendingKey) -> Bool {
        left.push == right.push && left.retired == right.retired
            && left.device.utf8.elementsEqual(right.device.utf8)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(push)
        hasher.combine(FNV.hash(device.utf8))
    }
}

/// What a push's headers say of its waiting.
struct WaitingHeaders {
    var expiresAt: Instant?
    /// One attempt, and no storing.
    var isForOneAttempt = false
    var collapseID: [UInt8]?

    /// - Parameters:
    ///   - head: A delivery's first part.
    ///   - rest: Its second.
    init(head: [UInt8], rest: [UInt8]) {
        var reader = PushReader()
        do throws(JSONError) { self = try reader.read(head, rest) { WaitingHeaders($0.headers?.value) } } catch {
            self.init(nil)
        }
    }

    init(_ headers: JSONValue?) {
        guard let headers else { return }
        if let expiration = WaitingHeaders.expiration(headers) {
            isForOneAttempt = expiration == 0
            expiresAt = expiration > 0 ? Instant(microseconds: expiration * 1_000_000) : nil
        }
        collapseID = headers[.apnsCollapseID]?.withUTF8 { $0.isEmpty ? nil : Array($0) } ?? nil
    }

    /// Seconds; nil where there is none, or none that a clock reaches.
    static func expiration(_ headers: JSONValue) -> Int64? {
        guard let seconds = DeliveredPush.expiration(headers), seconds >= 0,
            seconds < Instant.distantFuture.microseconds / 1_000_000
        else { return nil }
        return seconds
    }
}
