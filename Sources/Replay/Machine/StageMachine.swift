import EventLog
import JSON
import PipelineKit
import PipelineRuntime
import Time

/// A stage that can be run over logs: fed events at times, woken, and asked what it gave.
///
/// Belongs to one thread. Calls take whole runs of events, so that nothing is looked up for each.
///
/// A batch of the stage's log is made again in four steps: ``begin(_:)``, the events up to the batch's cursor,
/// ``advance(to:)`` its time, and ``settle()``.
package protocol StageMachine: AnyObject {
    var output: MachineOutput { get }

    /// When the stage wants to be woken.
    var deadline: Instant? { get }

    /// Takes events of one upstream batch, numbered from `first` on. Every deadline that has passed by then is served
    /// first.
    func receive(_ lines: UnsafeRawBufferPointer, first: UInt64, at now: Instant) throws

    /// Serves every deadline up to `time`, each at its own time, and moves the clock there.
    func advance(to time: Instant) throws

    /// Passes over what of the stage's own log lies before the state that the machine begins with.
    func skip(through sequence: UInt64) throws

    /// Begins with a batch of the stage's own log, or with what lies behind the log's end: see ``BatchAnswers``.
    func begin(_ header: BatchHeader?) throws

    /// Gives the stage the answers of the batch that have not been given yet, in their order.
    func settle() throws
}

extension StageMachine {
    func skip(through sequence: UInt64) throws {}
    func begin(_ header: BatchHeader?) throws {}
    func settle() throws {}
}

/// What a machine gave since it was last emptied, and for which input.
package final class MachineOutput {
    /// Where the output of one input ends.
    package struct Mark: Hashable, Sendable {
        /// The input's sequence in the upstream log; nil for a wake.
        package var input: UInt64?
        /// The machine's time when it had dealt with the input.
        package var now: Instant
        /// Bytes and events up to and with this input's.
        package var bytes: Int
        package var events: Int
    }

    package var outbox = Outbox()
    /// One for each input that gave events, in order.
    package internal(set) var marks: [Mark] = []
    /// Pushes that the stage handed out.
    package internal(set) var deliveries: [Delivery] = []
    /// Whether ``deliveries`` are kept.
    package var keepsDeliveries = false

    package init() {}

    package var lines: UnsafeRawBufferPointer { outbox.lines }
    package var count: Int { outbox.count }

    /// Notes that an input has been dealt with.
    func mark(_ input: UInt64?, at now: Instant) { marks.add(input, at: now, outbox) }

    /// Takes over events that were made elsewhere.
    ///
    /// - Returns: How many they are.
    func append(_ lines: UnsafeRawBufferPointer, _ marks: [Mark]) -> Int {
        let (bytes, events) = (outbox.lines.count, outbox.count)
        for line in Lines(lines) { outbox.append { $0.append(line) } }
        for var mark in marks {
            (mark.bytes, mark.events) = (mark.bytes + bytes, mark.events + events)
            self.marks.append(mark)
        }
        return outbox.count - events
    }

    package func removeAll() {
        outbox.discard()
        marks.removeAll(keepingCapacity: true)
        deliveries.removeAll(keepingCapacity: true)
    }
}

extension [MachineOutput.Mark] {
    /// Notes that an input has been dealt with.
    @inline(__always)
    mutating func add(_ input: UInt64?, at now: Instant, _ outbox: borrowing Outbox) {
        guard outbox.count > (last?.events ?? 0) else { return }
        append(Element(input: input, now: now, bytes: outbox.lines.count, events: outbox.count))
    }
}

/// Where a machine gets the answers to the pushes that its stage hands out.
package protocol AnswerSource: AnyObject {
    /// See ``StageMachine/skip(through:)``.
    func skip(through sequence: UInt64) throws

    /// See ``StageMachine/begin(_:)``.
    func begin(_ header: BatchHeader?) throws

    /// The answer that comes at once; nil where it comes later, or never.
    func answer(to delivery: Delivery) throws -> TransportAnswer?

    /// The answers that come at the end of the batch, in their order.
    func rest() throws -> [TransportAnswer]
}

extension AnswerSource {
    package func skip(through sequence: UInt64) throws {}
    package func begin(_ header: BatchHeader?) throws {}
    package func rest() throws -> [TransportAnswer] { [] }
}

/// Every push is accepted.
package final class AcceptedAnswers: AnswerSource {
    package init() {}

    package func answer(to delivery: Delivery) -> TransportAnswer? { TransportAnswer(delivery.id, .accepted) }
}
