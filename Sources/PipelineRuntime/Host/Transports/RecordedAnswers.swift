import EventLog
import JSON
import PipelineKit

/// Reads transports' answers from the events of a stage's own log.
package struct RecordedAnswers {
    private let answer: (borrowing InputEvent) -> TransportAnswer?

    package init<S: Stage>(of type: S.Type) { answer = { S.answer(recordedIn: $0) } }

    /// The answers in the batch's events after a sequence, in order.
    package func read(_ batch: EventLogReader.Batch, after sequence: UInt64 = 0) -> [TransportAnswer] {
        var parser = JSONParser(limits: EventReader.linkLimits)
        var found: [TransportAnswer] = []
        var number = batch.header.firstSequence
        for line in Lines(batch.body) {
            if number > sequence, let answer = read(line, number, &parser) { found.append(answer) }
            number += 1
        }
        return found
    }

    private func read(
        _ line: UnsafeRawBufferPointer, _ sequence: UInt64, _ parser: inout JSONParser
    ) -> TransportAnswer? {
        do throws(JSONError) {
            return answer(InputEvent(sequence: sequence, json: try parser.parse(line), line: line))
        } catch { return nil }
    }

    func read(from directory: String, after sequence: UInt64) throws -> [TransportAnswer] {
        let first = try EventLogs.summary(directory: directory).firstSequence
        let reader = try EventLogReader(directory: directory, from: .sequence(max(first, sequence + 1)))
        var found: [TransportAnswer] = []
        while let batch = try reader.next() { found += read(batch, after: sequence) }
        return found
    }
}

/// The answers that one batch of a stage's own log records.
///
/// If the batch's cursor has a ``EventLog/Cursor/firstUnanswered``, the answers to the pushes that this batch hands out
/// are in later batches, and the batch has only answers to earlier pushes. Without a `firstUnanswered`, the pushes of
/// this batch were answered at once. The batch has these answers too; a push without one was accepted. The stage
/// received the answers to earlier pushes at the end of the batch.
package struct BatchAnswers {
    private let leavesUnanswered: Bool
    private var answers: [TransportAnswer?]
    private var next = 0
    /// The indices of each push's answers. Built when answers are first asked for out of order.
    private var answerIndices: [Delivery.ID: [Int]]?

    package init(_ answers: [TransportAnswer] = [], leavesUnanswered: Bool) {
        (self.answers, self.leavesUnanswered) = (answers, leavesUnanswered)
    }

    /// The answer that came at once: `accepted`, unless the batch records another answer. Nil if a later batch has the
    /// answer.
    package mutating func takeImmediateAnswer(to id: Delivery.ID) -> TransportAnswer? {
        leavesUnanswered ? nil : take(id) ?? TransportAnswer(id, .accepted)
    }

    private mutating func take(_ id: Delivery.ID) -> TransportAnswer? {
        while next < answers.count, answers[next] == nil { next += 1 }
        guard next < answers.count else { return nil }
        if answers[next]?.id == id { return answers[next].take() }
        if answerIndices == nil { index() }
        while let place = answerIndices?[id]?.popLast() {
            if let answer = answers[place].take() { return answer }
        }
        return nil
    }

    private mutating func index() {
        var found: [Delivery.ID: [Int]] = [:]
        for place in answers.indices.reversed() {
            if let id = answers[place]?.id { found[id, default: []].append(place) }
        }
        answerIndices = found
    }

    /// Returns and removes the answers that the stage received at the end of the batch, in order.
    package mutating func takeAnswersToEarlierPushes() -> [TransportAnswer] {
        defer { self = BatchAnswers(leavesUnanswered: leavesUnanswered) }
        return answers.compactMap(\.self)
    }
}
