import JSON

/// The outputs of a stage: events, rejected input, and pushes for transports.
///
/// Events are written directly into the buffer that goes to the log and over the wire.
public struct Outbox: ~Copyable {
    package private(set) var events: ByteBuffer
    /// The number of events.
    public private(set) var count = 0
    package private(set) var rejections: [Rejected] = []
    package private(set) var deliveries: [Delivery] = []
    /// The stage's own answers to pushes that it takes back: see ``withdraw(as:)``.
    package private(set) var withdrawals: [TransportAnswer] = []
    package private(set) var saved: [SavedSubscription] = []
    /// Lines for the operator.
    package private(set) var operatorLines: [String] = []
    /// The size of the lines of ``deliveries``, in bytes.
    package private(set) var deliveryBytes = 0
    /// A part is full when its events have at least this many bytes.
    package var fullPartBytes = Outbox.partBytes
    private var partStart = 0
    /// The end offsets of the first events, as far as ``withEvent(_:_:)`` has needed them.
    private var ends: [Int] = []

    /// The usual value of ``fullPartBytes``: so large that a batch costs little, and so small that the next stage
    /// begins soon.
    package static let partBytes = 256 << 10

    package struct Rejected {
        package let sequence: UInt64
        package let rejection: Rejection
        package let line: [UInt8]

        package init(sequence: UInt64, rejection: Rejection, line: [UInt8]) {
            (self.sequence, self.rejection, self.line) = (sequence, rejection, line)
        }
    }

    /// For tests of a stage; a host makes its own.
    public init() { events = ByteBuffer(capacity: 64 << 10) }

    /// Appends one event: `write` writes one JSON object without a line feed.
    @inline(__always)
    public mutating func append(_ write: (inout ByteBuffer) -> Void) {
        write(&events)
        events.append(byte: UInt8(ascii: "\n"))
        count += 1
    }

    /// Appends an event unchanged.
    @inline(__always)
    public mutating func pass(_ event: borrowing InputEvent) {
        events.append(event.line)
        events.append(byte: UInt8(ascii: "\n"))
        count += 1
    }

    /// A position between two events. ``removeEvents(after:)`` removes the events after it.
    package struct Mark {
        fileprivate let count: Int
        fileprivate let bytes: Int
    }

    /// The position after the last event.
    package var mark: Mark { Mark(count: count, bytes: events.count) }

    /// Removes the events after a position. The host must not have appended them.
    package mutating func removeEvents(after mark: Mark) {
        events.truncate(to: mark.bytes)
        ends.removeLast(max(ends.count - mark.count, 0))
        count = mark.count
    }

    /// Rejects an event. The host of a source tells the producer; the host of any other stage keeps the event as a dead
    /// letter.
    public mutating func reject(_ event: borrowing InputEvent, _ rejection: Rejection) {
        event.line.withUnsafeBytes { reject(sequence: event.sequence, line: $0, rejection) }
    }

    package mutating func reject(sequence: UInt64, line: UnsafeRawBufferPointer, _ rejection: Rejection) {
        reject(Rejected(sequence: sequence, rejection: rejection, line: Array(line)))
    }

    package mutating func reject(_ rejected: Rejected) { rejections.append(rejected) }

    /// Tells the producer about the subscription that its event saved. Only a source has producers. The host sends the
    /// message only after it has appended the event.
    public mutating func saved(_ subscription: SavedSubscription) { saved.append(subscription) }

    /// Tells the operator, in one line, that there is a problem that only the operator can solve, or that such a
    /// problem is solved. The line is shown after the outputs are appended, and never during a rebuild.
    public mutating func tell(_ line: String) { operatorLines.append(line) }

    /// Hands out a push to its transport; the answer comes back through ``TransportingStage/receive(_:at:into:)``.
    public mutating func deliver(_ delivery: Delivery) {
        deliveries.append(delivery)
        deliveryBytes += delivery.byteCount
    }

    /// Takes a push back. If the push still waits for its transport, it gets this answer. Otherwise it gets the answer
    /// of the transport.
    public mutating func withdraw(as answer: TransportAnswer) { withdrawals.append(answer) }

    /// Whether a stage should stop writing and continue in another part: see ``PartwiseStage/isUnfinished``.
    @inline(__always)
    public var isFull: Bool { events.count - partStart >= fullPartBytes }

    /// Begins a part. The host calls this before it calls the stage.
    @inline(__always)
    package mutating func beginPart() { partStart = events.count }

    /// Calls `body` with an event's line.
    ///
    /// - Parameter index: From 0.
    package mutating func withEvent<Result>(_ index: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        precondition(index >= 0 && index < count, "there is no event \(index) among \(count)")
        while ends.count <= index {
            let rest = lines[(ends.last ?? 0)...]
            ends.append((rest.firstIndex(of: UInt8(ascii: "\n")) ?? rest.endIndex - 1) + 1)
        }
        let start = index == 0 ? 0 : ends[index - 1]
        return body(UnsafeRawBufferPointer(rebasing: lines[start..<(ends[index] - 1)]))
    }

    /// The events as they go to the log: one JSON object a line.
    package var lines: UnsafeRawBufferPointer { events.bytes }
    /// The events as text, for tests of a stage.
    public var text: String { events.text }

    /// The number of all outputs so far, except saved subscriptions.
    @inline(__always)
    var totalCount: Int { count + rejections.count + deliveries.count + withdrawals.count + operatorLines.count }

    /// Whether there are no events, no rejections and no pushes. Withdrawals, saved subscriptions and lines for
    /// the operator do not count.
    package var isEmpty: Bool { count == 0 && rejections.isEmpty && deliveries.isEmpty }

    /// Removes all events, and with them the saved subscriptions and the lines for the operator.
    package mutating func removeEvents() {
        events.removeAll()
        events.shrink(to: 4 << 20)
        (count, partStart) = (0, 0)
        forgetEventDetails()
    }

    /// Removes the first `number` events, which are in the log already. Also removes all saved subscriptions and all
    /// lines for the operator.
    package mutating func removeEvents(first number: Int) {
        guard number < count else { return removeEvents() }
        var end = 0
        for _ in 0..<number { end = (lines[end...].firstIndex(of: UInt8(ascii: "\n")) ?? lines.count - 1) + 1 }
        var rest = ByteBuffer(capacity: lines.count - end)
        rest.append(UnsafeRawBufferPointer(rebasing: lines[end...]))
        events = rest
        (count, partStart) = (count - number, 0)
        forgetEventDetails()
    }

    private mutating func forgetEventDetails() {
        if !ends.isEmpty { ends.removeAll(keepingCapacity: true) }
        if !saved.isEmpty { saved = [] }
        if !operatorLines.isEmpty { operatorLines = [] }
    }

    /// Removes all outputs, for example the outputs that a rebuild repeats.
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

    package mutating func takeOperatorLines() -> [String] {
        defer { operatorLines = [] }
        return operatorLines
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
