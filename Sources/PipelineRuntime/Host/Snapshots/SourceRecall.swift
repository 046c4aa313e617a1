import EventLog
import PipelineKit

extension StageClock {
    /// Gives a source the events of its own log again, from the event after `position` through `last`.
    ///
    /// - Parameter onBatch: Called with the size of each batch in bytes. An error that it throws ends the work.
    mutating func recall(
        from directory: String, after position: UInt64, through last: UInt64, onBatch: (Int) throws -> Void
    ) throws {
        guard position < last else { return }
        let reader = try EventLogReader(directory: directory, from: .sequence(position + 1))
        var events = EventReader(limits: EventReader.linkLimits)
        var out = Outbox()
        var sequence = position
        while sequence < last {
            guard let batch = try reader.next() else {
                throw RebuildError.missingEvent(log: directory, sequence: sequence + 1)
            }
            try onBatch(batch.body.count)
            sequence = batch.header.firstSequence
            for line in Lines(batch.body) {
                if sequence > position, sequence <= last,
                    let event = events.read(line, sequence: sequence, into: &out)
                {
                    recall(event, at: batch.header.now)
                }
                sequence += 1
            }
            sequence -= 1
            out.discard()
        }
    }
}
