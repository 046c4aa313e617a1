import EventLog
import PipelineKit
import PipelineRuntime

/// The transports' answers that a stage's log records, read batch by batch.
final class LoggedAnswers: AnswerSource {
    private let log: String
    private var reader: EventLogReader
    private let answers: RecordedAnswers
    private var part = BatchAnswers(leavesUnanswered: true)
    /// The last event that was read or skipped.
    private var last: UInt64

    /// - Parameters:
    ///   - log: The folder of the stage's own log.
    ///   - sequence: The first answer to read comes after this event.
    init<S: Stage>(of type: S.Type, log: String, after sequence: UInt64 = 0) throws(EventLogError) {
        self.log = log
        reader = try EventLogReader(directory: log, from: sequence == 0 ? .beginning : .sequence(sequence))
        last = sequence
        answers = RecordedAnswers(of: type)
    }

    func skip(through sequence: UInt64) throws {
        guard sequence > last else { return }
        reader = try EventLogReader(directory: log, from: .sequence(sequence))
        last = sequence
    }

    /// Reads the recorded answers of a batch. After the log's end, every push counts as accepted.
    func begin(_ header: BatchHeader?) throws {
        var found: [TransportAnswer] = []
        while let header, last < header.nextSequence - 1, let batch = try reader.next() {
            found += answers.read(batch, after: last)
            last = max(last, batch.header.nextSequence - 1)
        }
        part = BatchAnswers(found, leavesUnanswered: header?.cursor.hasUnansweredPushes ?? false)
    }

    func answer(to delivery: Delivery) -> TransportAnswer? { part.takeImmediateAnswer(to: delivery.id) }

    func takeAnswersToEarlierPushes() -> [TransportAnswer] { part.takeAnswersToEarlierPushes() }
}
