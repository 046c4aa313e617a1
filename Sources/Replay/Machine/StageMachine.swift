import EventLog
import JSON
import PipelineKit
import PipelineRuntime
import Time

/// Runs a stage over the events that the caller feeds, and collects its outputs.
///
/// Belongs to one thread. Each call accepts many events, so that dynamic dispatch does not cost time for each event.
///
/// To make a batch of the stage's log again: call ``begin(_:)``, feed the events up to the batch's cursor, then call
/// ``advance(to:)`` with the batch's time, and ``settle()``.
protocol StageMachine: AnyObject {
    var output: MachineOutput { get }

    /// When the stage wants to be woken.
    var deadline: Instant? { get }

    /// Feeds events of one upstream batch, numbered from `first` on. Before each event, the stage is woken for every
    /// deadline up to `now`.
    func receive(_ lines: UnsafeRawBufferPointer, first: UInt64, at now: Instant) throws

    /// Wakes the stage for every deadline up to `time`, each at its own time, and moves the clock to `time`.
    func advance(to time: Instant) throws

    /// Skips the answers in the stage's own log up to event `sequence`, because the state with which the machine begins
    /// already includes them.
    func skip(through sequence: UInt64) throws

    /// Begins the next batch of the stage's own log. See ``BatchAnswers``.
    ///
    /// - Parameter header: The header of the batch; nil after the log's last batch.
    func begin(_ header: BatchHeader?) throws

    /// Gives the stage the batch's remaining answers, in log order.
    func settle() throws
}

extension StageMachine {
    func skip(through sequence: UInt64) throws {}
    func begin(_ header: BatchHeader?) throws {}
    func settle() throws {}
}

/// A machine's outputs since the last ``removeAll()``, and which input led to each.
package final class MachineOutput {
    /// The end of a piece of the output, and what led to this piece: an input event, wakes or an answer. The piece of
    /// an input event includes the output of the wakes just before the event.
    package struct Mark: Hashable, Sendable {
        /// The input event's sequence in the upstream log; nil if wakes or an answer led to the piece. A plugin answers
        /// a whole batch with one piece, so for a plugin this is the sequence of the batch's last event.
        package var input: UInt64?
        /// The stage's time after the piece.
        package var now: Instant
        /// The number of bytes from the beginning of the output to the end of the piece.
        package var bytes: Int
        /// The number of events from the beginning of the output to the end of the piece.
        package var events: Int
    }

    package var outbox = Outbox()
    /// One mark for each piece of the output, in order.
    package internal(set) var marks: [Mark] = []
    /// The stage's pushes and its notices of retired devices; empty unless ``keepsDeliveries``.
    package internal(set) var deliveries: [Delivery] = []
    package var keepsDeliveries = false

    package init() {}

    package var lines: UnsafeRawBufferPointer { outbox.lines }
    package var count: Int { outbox.count }

    func mark(_ input: UInt64?, at now: Instant) { marks.add(input, at: now, outbox) }

    /// Appends the output of another process.
    ///
    /// - Returns: How many events were appended.
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
    /// Adds a mark at the end of the output, if events were added after the last mark.
    @inline(__always)
    mutating func add(_ input: UInt64?, at now: Instant, _ outbox: borrowing Outbox) {
        guard outbox.count > (last?.events ?? 0) else { return }
        append(Element(input: input, now: now, bytes: outbox.lines.count, events: outbox.count))
    }
}

/// Answers the pushes of a stage in place of its transports.
package protocol AnswerSource: AnyObject {
    /// See ``StageMachine/skip(through:)``.
    func skip(through sequence: UInt64) throws

    /// See ``StageMachine/begin(_:)``.
    func begin(_ header: BatchHeader?) throws

    /// The immediate answer; nil when the answer comes later, or never.
    func answer(to delivery: Delivery) throws -> TransportAnswer?

    /// Returns and removes the answers that the stage gets at the end of the batch, in order.
    func takeAnswersToEarlierPushes() throws -> [TransportAnswer]
}

extension AnswerSource {
    package func skip(through sequence: UInt64) throws {}
    package func begin(_ header: BatchHeader?) throws {}
    package func takeAnswersToEarlierPushes() throws -> [TransportAnswer] { [] }
}

/// Accepts every push.
final class AcceptedAnswers: AnswerSource {
    func answer(to delivery: Delivery) -> TransportAnswer? { TransportAnswer(delivery.id, .accepted) }
}
