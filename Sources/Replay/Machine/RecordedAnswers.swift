import EventLog
import JSON
import PipelineKit
import PipelineRuntime

/// The answers that a stage had when its log was made, read from the events that record them.
///
/// Both pushes and the events that record their answers are in order, so that one pass finds all.
package final class RecordedAnswers: AnswerSource {
    private let reader: EventLogReader
    private let answer: (borrowing InputEvent) -> TransportAnswer?
    private var parser = JSONParser(limits: EventReader.linkLimits)
    /// Answers of the batch in hand, the next one last.
    private var waiting: [TransportAnswer] = []

    /// - Parameters:
    ///   - log: The stage's own log's folder.
    ///   - answer: ``Stage/answer(recordedIn:)`` of the stage's type.
    package init(
        log: String, from start: EventLogReader.Start = .beginning,
        answer: @escaping (borrowing InputEvent) -> TransportAnswer?
    ) throws(EventLogError) {
        reader = try EventLogReader(directory: log, from: start)
        self.answer = answer
    }

    /// A push whose answer was not recorded, because the log ends before it, counts as accepted.
    package func answer(to delivery: Delivery) throws -> TransportAnswer {
        while let next = try peek(), next.id.push <= delivery.id.push {
            waiting.removeLast()
            if next.id == delivery.id { return next }
        }
        return TransportAnswer(delivery.id, .accepted)
    }

    private func peek() throws -> TransportAnswer? {
        while waiting.isEmpty, let batch = try reader.next() { waiting = answers(in: batch).reversed() }
        return waiting.last
    }

    private func answers(in batch: EventLogReader.Batch) -> [TransportAnswer] {
        var found: [TransportAnswer] = []
        var sequence = batch.header.firstSequence
        for line in Lines(batch.body) {
            if let answer = read(line, sequence) { found.append(answer) }
            sequence += 1
        }
        return found
    }

    private func read(_ line: UnsafeRawBufferPointer, _ sequence: UInt64) -> TransportAnswer? {
        do throws(JSONError) {
            return answer(InputEvent(sequence: sequence, json: try parser.parse(line), line: line))
        } catch { return nil }
    }
}
