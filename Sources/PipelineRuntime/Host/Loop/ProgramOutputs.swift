import EventLog
import JSON
import PipelineKit

/// Reads the lines with which the program of a stage answers a batch.
package struct ProgramOutputs: ~Copyable {
    /// The code of the dead letters for lines that are not valid events.
    package static let invalidCode = "stage.invalid_output"

    /// An event together with its line feed must fit in the log.
    private var reader = EventReader(limits: JSONLimits(bytesMax: EventLogLimits.eventBytesMax - 1))
    private var invalid = Outbox()

    package init() {}

    /// Passes on the valid events. Any other line becomes a dead letter, whose reason names the events of the batch.
    ///
    /// - Parameters:
    ///   - batch: The sequences of the batch's events.
    ///   - upstream: The name of the log that the events come from.
    package mutating func pass(
        _ lines: UnsafeRawBufferPointer, answering batch: ClosedRange<UInt64>, of upstream: String,
        into out: inout Outbox
    ) {
        for line in Lines(lines) {
            if let event = reader.read(line, sequence: batch.upperBound, into: &invalid) { out.pass(event) }
        }
        let (first, last) = (batch.lowerBound, batch.upperBound)
        let events = first == last ? "event \(last)" : "events \(first) to \(last)"
        for rejected in invalid.takeRejections() {
            let fault = rejected.rejection.reason
            let reason = "its program answered \(events) of \(upstream) with an invalid event: \(fault)"
            out.reject(
                Outbox.Rejected(
                    sequence: last, rejection: Rejection(code: ProgramOutputs.invalidCode, reason: reason),
                    line: rejected.line))
        }
    }
}
