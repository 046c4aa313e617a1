import EventLog
import JSON
import PipelineKit

/// Transports' answers, as a stage's own events tell them: several to a push that was handed out several times.
///
/// A stage that is fed its past asks for them in the order in which they stand; another order is served too.
package struct RecordedAnswers {
    private let answer: (borrowing InputEvent) -> TransportAnswer?
    /// Those that come next, the first one last.
    private var coming: [TransportAnswer] = []
    /// Those that were passed over, by their push.
    private var passed: [Delivery.ID: [TransportAnswer]] = [:]

    /// More are not kept: the pushes that they answered will not come.
    private static let passedMax = 65_536

    package init<S: Stage>(of type: S.Type) { answer = { S.answer(recordedIn: $0) } }

    /// - Parameter sequence: The last event that does not count.
    package mutating func add(_ batch: EventLogReader.Batch, after sequence: UInt64 = 0) {
        var parser = JSONParser(limits: EventReader.linkLimits)
        var found: [TransportAnswer] = []
        var number = batch.header.firstSequence
        for line in Lines(batch.body) {
            if number > sequence, let answer = read(line, number, &parser) { found.append(answer) }
            number += 1
        }
        coming.insert(contentsOf: found.reversed(), at: 0)
    }

    private func read(
        _ line: UnsafeRawBufferPointer, _ sequence: UInt64, _ parser: inout JSONParser
    ) -> TransportAnswer? {
        do throws(JSONError) {
            return answer(InputEvent(sequence: sequence, json: try parser.parse(line), line: line))
        } catch { return nil }
    }

    /// The push's next answer; nil where none has been added.
    package mutating func take(_ id: Delivery.ID) -> TransportAnswer? {
        if coming.last?.id == id { return coming.popLast() }
        if let answer = takePassed(id) { return answer }
        while let answer = coming.popLast() {
            if answer.id == id { return answer }
            pass(answer)
        }
        return nil
    }

    private mutating func takePassed(_ id: Delivery.ID) -> TransportAnswer? {
        guard !passed.isEmpty, let answer = passed[id]?.removeFirst() else { return nil }
        if passed[id]?.isEmpty == true { passed[id] = nil }
        return answer
    }

    private mutating func pass(_ answer: TransportAnswer) {
        if passed.count >= RecordedAnswers.passedMax { passed.removeAll() }
        passed[answer.id, default: []].append(answer)
    }

    /// Whether as many are passed over as may be: then no more are looked through for one push.
    package var isFull: Bool { passed.count >= RecordedAnswers.passedMax }
}
