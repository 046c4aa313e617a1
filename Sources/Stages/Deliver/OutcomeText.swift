import Events
import JSON
import PipelineKit
import Time

/// The text that all outcomes and attempts of a push or a notice share.
struct OutcomeText {
    /// The first part of the event, which ends with the user, and the last part. For a push, the last part starts at
    /// `causes`. For a notice, it starts at `registered`.
    private let text: [UInt8]
    private let causesStart: Int
    let isOfNotice: Bool

    /// The offset of the event's name: the length of `{"type":"`.
    private static let nameStart = 9

    /// The offset after the quotation mark that ends the event's name.
    private var nameEnd: Int {
        Self.nameStart + (isOfNotice ? EventName.noticeOutcome : EventName.outcome).utf8CodeUnitCount + 1
    }

    /// - Parameter original: The position of the original push, if this is a redrive.
    init(_ push: Push, sequence: UInt64, redriveOf original: JSONValue? = nil) {
        isOfNotice = false
        let ids = push.notificationID.raw.count + push.userName.raw.count
        var buffer = ByteBuffer(capacity: ids + push.causes.raw.count + 100)
        buffer.begin(event: EventName.outcome)
        buffer.append(member: .push)
        buffer.appendJSON(sequence)
        buffer.append(.redriveOf, original)
        buffer.append(.notificationID, push.notificationID)
        buffer.append(.user, push.userName)
        causesStart = buffer.count
        buffer.append(.causes, push.causes)
        buffer.append(byte: UInt8(ascii: "}"))
        text = Array(buffer.bytes)
    }

    init(noticeOf retirement: Retirement) {
        isOfNotice = true
        var buffer = ByteBuffer(capacity: 256)
        buffer.begin(event: EventName.noticeOutcome)
        buffer.append(.of, word: EventName.deviceRetired)
        buffer.append(.push, Int(clamping: retirement.push))
        buffer.append(retirement.device.app, user: retirement.device.owner)
        causesStart = buffer.count
        buffer.append(.registered, retirement.device.registered)
        buffer.append("}")
        text = Array(buffer.bytes)
    }

    func writeNoDevice(to buffer: inout ByteBuffer) {
        write(to: &buffer) { $0.append(.outcome, word: "no_device") }
    }

    /// Writes an outcome that has no answer, so it has no status, reason or attempts.
    func write(_ code: OutcomeCode, at device: Device, _ id: PositionID, to buffer: inout ByteBuffer) {
        write(to: &buffer) { Self.begin(code.rawValue, at: device, id, to: &$0) }
    }

    /// Writes the outcome for a final answer to the first delivery.
    @inline(__always)
    func write(_ answer: TransportAnswer, at device: Device, _ id: PositionID, to buffer: inout ByteBuffer) {
        write(to: &buffer) { buffer in
            Self.begin(answer.outcome.rawValue, at: device, id, to: &buffer)
            buffer.append(status: answer.status, reason: answer.reason)
            buffer.append(member: .attempts)
            buffer.appendJSON(answer.attempts)
            buffer.append(answer.mayRepeat, answer.receipt)
        }
    }

    func write(_ note: PushNote, at device: Device, _ id: PositionID, to buffer: inout ByteBuffer) {
        if !note.isFinal { buffer.begin(event: isOfNotice ? EventName.noticeAttempt : EventName.attempt) }
        write(from: note.isFinal ? 0 : nameEnd, to: &buffer) { buffer in
            Self.begin(note.word, at: device, id, isOfNotice ? .webhookID : .apnsID, to: &buffer)
            note.write(to: &buffer)
        }
    }

    private static func begin(
        _ outcome: String, at device: Device, _ id: PositionID, _ member: Member = .apnsID,
        to buffer: inout ByteBuffer
    ) {
        device.writeName(to: &buffer)
        buffer.append(member: member)
        buffer.appendJSON(id)
        buffer.append(member: .outcome)
        buffer.appendJSON(outcome)
    }

    @inline(__always)
    private func write(from start: Int = 0, to buffer: inout ByteBuffer, _ middle: (inout ByteBuffer) -> Void) {
        text.withUnsafeBytes { text in
            buffer.append(UnsafeRawBufferPointer(rebasing: text[start..<causesStart]))
            middle(&buffer)
            buffer.append(UnsafeRawBufferPointer(rebasing: text[causesStart...]))
        }
    }
}

extension OutcomeText {
    func write(into snapshot: inout SnapshotWriter) {
        snapshot.write(text)
        snapshot.write(UInt64(causesStart))
    }

    init(from snapshot: inout SnapshotReader) throws(SnapshotError) {
        let (text, start) = (try snapshot.array(), try snapshot.number())
        guard start <= UInt64(text.count) else { throw snapshot.error("the text of an outcome is cut off") }
        (self.text, causesStart) = (text, Int(start))
        isOfNotice = EventName.noticeOutcome.withUTF8Buffer { text.dropFirst(Self.nameStart).starts(with: $0) }
        guard causesStart >= nameEnd else { throw snapshot.error("the text of an outcome is cut off") }
    }
}

/// The members of an outcome or attempt that describe what happened to a push at a device.
struct PushNote {
    /// Whether the event is an outcome. Otherwise it is an attempt.
    var isFinal: Bool
    /// The member `outcome`.
    var word: String
    /// The transport's answer if it differs from ``word``. ``noAnswer`` means that a transport can answer `word`, but
    /// here deliver ended the push without an answer. Nil in all other cases.
    var answer: String?
    var superseder: UInt64?
    var status: Int?
    var reason: String?
    /// The reason in the transport's answer, if deliver replaced it with a `reason` of its own. Empty if the answer has
    /// no reason.
    var said: String?
    var attempts = 0
    /// The number of attempts that the answer itself reports, if this number differs from ``attempts``, the number of
    /// all attempts so far.
    var tries: Int?
    var until: Instant?
    var since: Instant?
    var registered: Instant?
    /// The time of the answer, if later events of the stage depend on that time.
    var receivedAt: Instant?
    /// Whether the transport still has the push.
    var isUnderWay = false
    var mayRepeat = false
    var receipt: String?

    static let noAnswer = "none"

    init(_ code: OutcomeCode) { (isFinal, word) = (true, code.rawValue) }

    /// - Parameter word: `deferred` or `held`.
    init(waiting word: String) { (isFinal, self.word) = (false, word) }

    func write(to buffer: inout ByteBuffer) {
        buffer.append(.answer, answer)
        if let superseder { buffer.append(.by, Int(superseder)) }
        buffer.append(status: status, reason: reason)
        buffer.append(.said, said)
        buffer.append(.attempts, attempts)
        buffer.append(.tries, tries)
        buffer.append(.until, until)
        buffer.append(.since, since)
        buffer.append(.registered, registered)
        buffer.append(.at, receivedAt)
        if isUnderWay { buffer.append(.underWay, true) }
        buffer.append(mayRepeat, receipt)
    }
}

extension ByteBuffer {
    @inline(__always)
    mutating func append(status: Int?, reason: String?) {
        if let status { append(.status, status) }
        if let reason { append(.reason, reason) }
    }

    @inline(__always)
    fileprivate mutating func append(_ mayRepeat: Bool, _ receipt: String?) {
        if mayRepeat { append(.repeatPossible, true) }
        if let receipt { append(.receipt, receipt) }
    }
}
