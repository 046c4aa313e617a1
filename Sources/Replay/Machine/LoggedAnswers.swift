import EventLog
import PipelineKit
import PipelineRuntime

/// The answers that a stage had when its log was made, read from the log as they are asked for.
package final class LoggedAnswers: AnswerSource {
    private let reader: EventLogReader
    private let before: UInt64
    private var answers: RecordedAnswers

    /// - Parameters:
    ///   - log: The stage's own log's folder.
    ///   - sequence: The last event of it that lies before.
    package init<S: Stage>(of type: S.Type, log: String, after sequence: UInt64 = 0) throws(EventLogError) {
        reader = try EventLogReader(directory: log, from: sequence == 0 ? .beginning : .sequence(sequence))
        before = sequence
        answers = RecordedAnswers(of: type)
    }

    /// A push whose answer was not recorded, because the log ends before it, counts as accepted.
    package func answer(to delivery: Delivery) throws -> TransportAnswer {
        repeat {
            if let answer = answers.take(delivery.id) { return answer }
        } while try readOn()
        return TransportAnswer(delivery.id, .accepted)
    }

    private func readOn() throws(EventLogError) -> Bool {
        guard !answers.isFull, let batch = try reader.next() else { return false }
        answers.add(batch, after: before)
        return true
    }
}
