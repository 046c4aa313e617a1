import EventLog
import JSON
import PipelineKit
import PipelineRuntime

/// A stage that can be run over logs: fed events at times, woken, and asked what it gave.
///
/// Belongs to one thread. Calls take whole runs of events, so that nothing is looked up for each.
package protocol StageMachine: AnyObject {
    var output: MachineOutput { get }

    /// When the stage wants to be woken.
    var deadline: Instant? { get }

    /// Takes events of one upstream batch, numbered from `first` on. Every deadline that has passed by then is served
    /// first.
    func receive(_ lines: UnsafeRawBufferPointer, first: UInt64, at now: Instant) throws

    /// Serves every deadline up to `time`, each at its own time, and moves the clock there.
    func advance(to time: Instant) throws
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
    /// Pushes that the stage handed out, already answered.
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
    func answer(to delivery: Delivery) throws -> TransportAnswer
}

/// Every push is accepted.
package final class AcceptedAnswers: AnswerSource {
    package init() {}

    package func answer(to delivery: Delivery) -> TransportAnswer { TransportAnswer(delivery.id, .accepted) }
}
