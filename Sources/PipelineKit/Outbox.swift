import EventLog
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
    package private(set) var saved: [SavedSubscription] = []

    package struct Rejected {
        package let sequence: UInt64
        package let rejection: Rejection
        package let line: [UInt8]

        package init(sequence: UInt64, rejection: Rejection, line: [UInt8]) {
            (self.sequence, self.rejection, self.line) = (sequence, rejection, line)
        }
    }

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
        reject(sequence: event.sequence, line: event.line, rejection)
    }

    package mutating func reject(sequence: UInt64, line: UnsafeRawBufferPointer, _ rejection: Rejection) {
        rejections.append(Rejected(sequence: sequence, rejection: rejection, line: Array(line)))
    }

    /// Tells the producer of the event in hand what its subscription came to. Only a source's producers hear it, and only
    /// after the event that saves it was appended.
    public mutating func saved(_ subscription: SavedSubscription) { saved.append(subscription) }

    /// Hands a push to the transport it names; the answer comes back through ``Stage/receive(_:at:into:)-(TransportAnswer,_,_)``.
    public mutating func deliver(_ delivery: Delivery) { deliveries.append(delivery) }

    /// The events as they go to the log: one JSON object a line.
    public var lines: UnsafeRawBufferPointer { events.bytes }

    package var isEmpty: Bool { count == 0 && rejections.isEmpty && deliveries.isEmpty }

    package mutating func removeEvents() {
        events.removeAll()
        events.shrink(to: 4 << 20)
        count = 0
        if !saved.isEmpty { saved = [] }
    }

    /// Forgets everything: what a stage says again while its past is fed to it.
    package mutating func discard() {
        removeEvents()
        rejections.removeAll(keepingCapacity: true)
        deliveries = []
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
        defer { deliveries = [] }
        return deliveries
    }
}
