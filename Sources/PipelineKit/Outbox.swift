import JSON

/// What a stage gives back during one turn: events, rejected input, and pushes for transports.
///
/// Events are written straight into the buffer that goes to the log and over the wire.
public struct Outbox: ~Copyable {
    package private(set) var events: ByteBuffer
    /// Number of events written.
    public private(set) var count = 0
    package private(set) var rejections: [Rejected] = []
    package private(set) var deliveries: [Delivery] = []
    /// The answers to pushes that are taken back, where no transport has them yet.
    package private(set) var withdrawals: [TransportAnswer] = []
    package private(set) var saved: [SavedSubscription] = []
    /// What the operator is told.
    package private(set) var said: [String] = []
    /// The lines of ``deliveries``.
    package private(set) var deliveryBytes = 0
    /// What of the events is one part of what the stage has to say.
    package var partBytesMax = Outbox.partBytes
    private var partStart = 0

    /// Large enough for a batch to cost little, small enough for the next stage to begin soon.
    package static let partBytes = 256 << 10

    package struct Rejected {
        package let sequence: UInt64
        package let rejection: Rejection
        package let line: [UInt8]

        package init(sequence: UInt64, rejection: Rejection, line: [UInt8]) {
            (self.sequence, self.rejection, self.line) = (sequence, rejection, line)
        }
    }

    /// For tests of a stage; a host has one of its own.
    public init() { events = ByteBuffer(capacity: 64 << 10) }

    /// Appends one event: `write` adds one JSON object without a line feed.
    @inline(__always)
    public mutating func append(_ write: (inout ByteBuffer) -> Void) {
        write(&events)
        events.append(byte: UInt8(ascii: "\n"))
        count += 1
    }

    /// Passes an event on as it came.
    @inline(__always)
    public mutating func pass(_ event: borrowing InputEvent) {
        events.append(event.line)
        events.append(byte: UInt8(ascii: "\n"))
        count += 1
    }

    /// Sets an event aside: a source's producer is told, any other stage's host keeps it as a dead letter.
    public mutating func reject(_ event: borrowing InputEvent, _ rejection: Rejection) {
        event.line.withUnsafeBytes { reject(sequence: event.sequence, line: $0, rejection) }
    }

    package mutating func reject(sequence: UInt64, line: UnsafeRawBufferPointer, _ rejection: Rejection) {
        rejections.append(Rejected(sequence: sequence, rejection: rejection, line: Array(line)))
    }

    /// Tells the producer of the event in hand what its subscription came to. Only a source's producers hear it, and only
    /// after the event that saves it was appended.
    public mutating func saved(_ subscription: SavedSubscription) { saved.append(subscription) }

    /// Tells the operator, in one line, what only they can mend, or that it is over. It is said after the events beside it
    /// were appended, and never while the stage is fed its past; events alone are remembered.
    public mutating func tell(_ line: String) { said.append(line) }

    /// Hands a push to the transport it names; the answer comes back through ``TransportingStage/receive(_:at:into:)``.
    public mutating func deliver(_ delivery: Delivery) {
        deliveries.append(delivery)
        deliveryBytes += delivery.byteCount
    }

    /// Takes back a push that was handed out: unless a transport has it already, this is its answer.
    public mutating func withdraw(as answer: TransportAnswer) { withdrawals.append(answer) }

    /// Whether a stage that has more to say had better stop: see ``PartwiseStage/isUnfinished``.
    @inline(__always)
    public var isFull: Bool { events.count - partStart >= partBytesMax }

    /// To be called before a stage is asked for anything.
    @inline(__always)
    package mutating func beginPart() { partStart = events.count }

    /// The events as they go to the log: one JSON object a line.
    package var lines: UnsafeRawBufferPointer { events.bytes }
    /// The same as text, for tests of a stage.
    public var text: String { events.text }

    /// How much of anything a stage has put in; grows while the stage is asked.
    @inline(__always)
    var saidSoFar: Int { count + rejections.count + deliveries.count + withdrawals.count + said.count }

    package var isEmpty: Bool { count == 0 && rejections.isEmpty && deliveries.isEmpty }

    package mutating func removeEvents() {
        events.removeAll()
        events.shrink(to: 4 << 20)
        (count, partStart) = (0, 0)
        if !saved.isEmpty { saved = [] }
        if !said.isEmpty { said = [] }
    }

    /// Forgets the first events: the log has them.
    package mutating func removeEvents(first number: Int) {
        guard number < count else { return removeEvents() }
        var end = 0
        for _ in 0..<number { end = (lines[end...].firstIndex(of: UInt8(ascii: "\n")) ?? lines.count - 1) + 1 }
        var rest = ByteBuffer(capacity: lines.count - end)
        rest.append(UnsafeRawBufferPointer(rebasing: lines[end...]))
        events = rest
        (count, partStart) = (count - number, 0)
        if !saved.isEmpty { saved = [] }
        if !said.isEmpty { said = [] }
    }

    /// Forgets everything: what a stage says again while its past is fed to it.
    package mutating func discard() {
        removeEvents()
        rejections.removeAll(keepingCapacity: true)
        (deliveries, deliveryBytes, withdrawals) = ([], 0, [])
    }

    package mutating func removeRejections() { rejections.removeAll(keepingCapacity: true) }

    package mutating func takeRejections() -> [Rejected] {
        defer { rejections.removeAll(keepingCapacity: true) }
        return rejections
    }

    package mutating func takeSaved() -> [SavedSubscription] {
        defer { saved = [] }
        return saved
    }

    package mutating func takeDeliveries() -> [Delivery] {
        defer { (deliveries, deliveryBytes) = ([], 0) }
        return deliveries
    }

    package mutating func takeWithdrawals() -> [TransportAnswer] {
        defer { withdrawals = [] }
        return withdrawals
    }
}
