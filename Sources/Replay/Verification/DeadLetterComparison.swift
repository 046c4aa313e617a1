import EventLog
import Events
import JSON
import PipelineKit
import PipelineRuntime
import Time

/// Compares the events that a ``StageMachine`` rejects in a replay with the dead-letter log of its stage.
struct DeadLetterComparison {
    private let stage: String
    private let log: String
    private let upstream: String
    private let lines: LogLines?

    /// - Parameter cursor: Dead letters of input up to this event are skipped.
    init(_ recorded: RecordedStage, after cursor: UInt64) throws(EventLogError) {
        stage = recorded.name
        log = recorded.log.name + ".dead-letters"
        upstream = recorded.context.upstreamName
        lines = if let path = recorded.deadLetters { try LogLines(log: path) } else { nil }
        guard cursor > 0 else { return }
        while let letter = try lines?.peek(), letter.inputSequence ?? 0 <= cursor { _ = try lines?.next() }
    }

    /// - Parameter isSkipped: Whether to read the letters without comparing them: they come before the range to
    ///   compare, or the replay compares only the events about one subject.
    func compare(_ rejected: [Outbox.Rejected], isSkipped: Bool) throws -> ReplayDifference? {
        for letter in rejected {
            var text = ByteBuffer()
            letter.write(ofStage: stage, log: upstream, to: &text)
            let replayed = String(text.text.dropLast())
            if try isTrimmedAway(letter.sequence) { continue }
            let recorded = try lines?.next()
            if isSkipped || recorded.map({ ExactText($0.text) }) == ExactText(replayed) { continue }
            return difference(recorded, replayed, of: letter.sequence)
        }
        return nil
    }

    /// Checks that an event on which the stage crashed has a dead letter that says so. The text of this letter is not
    /// compared: the replay does not feed the event to the machine, so the machine makes no letter.
    func compareCrash(at sequence: UInt64, isSkipped: Bool) throws -> ReplayDifference? {
        if try isTrimmedAway(sequence) { return nil }
        let recorded = try lines?.next()
        if isSkipped || recorded?.inputSequence == sequence && recorded?.code == SetAsideEvents.code { return nil }
        return difference(recorded, nil, of: sequence)
    }

    /// Whether the letter of an input event was in a segment that is gone.
    private func isTrimmedAway(_ sequence: UInt64) throws -> Bool {
        guard let lines, lines.isTrimmed else { return false }
        guard let next = try lines.peek() else { return lines.nextSequence == 1 }
        return sequence < next.inputSequence ?? 0
    }

    /// The difference for a recorded letter whose event the replay did not reject; nil if there is no such letter.
    ///
    /// - Parameter last: The last input event to check. Letters of later events are not compared here. When the
    ///   replay has reached the log's end, these letters belong to a batch that was never written.
    func surplus(through last: UInt64) throws -> ReplayDifference? {
        guard let recorded = try lines?.peek(), let sequence = recorded.inputSequence, sequence <= last
        else { return nil }
        return difference(recorded, nil, of: sequence)
    }

    private func difference(_ recorded: LogLines.Line?, _ replayed: String?, of sequence: UInt64) -> ReplayDifference {
        ReplayDifference(
            stage: stage, log: log, sequence: recorded?.sequence ?? lines?.nextSequence ?? 1, recorded: recorded?.text,
            replayed: replayed, cause: .event(log: upstream, sequence: sequence, text: nil))
    }
}

/// Reads the letters of a dead-letter log one after the other.
private final class LogLines {
    struct Line {
        var sequence: UInt64
        var text: String

        /// The sequence of the rejected event in the stage's input.
        var inputSequence: UInt64? { read { $0.natural(.sequence) } }
        var code: String? { read { $0.text(.code) } }

        private func read<Value>(_ member: (JSONValue) -> Value?) -> Value? {
            Array(text.utf8).withUnsafeBytes { readEvent($0, member) }
        }
    }

    private let reader: EventLogReader
    private var waiting: ArraySlice<Line> = []
    private(set) var nextSequence: UInt64 = 1
    /// Whether the log's first events are gone.
    let isTrimmed: Bool

    init(log: String) throws(EventLogError) {
        reader = try EventLogReader(directory: log, from: .beginning)
        isTrimmed = try EventLogs.summary(directory: log).firstSequence > 1
    }

    func next() throws(EventLogError) -> Line? {
        _ = try peek()
        return waiting.popFirst()
    }

    func peek() throws(EventLogError) -> Line? {
        while waiting.isEmpty, let batch = try reader.next() {
            for (sequence, line) in zip(batch.header.firstSequence..., Lines(batch.body)) {
                waiting.append(Line(sequence: sequence, text: String(decoding: line, as: UTF8.self)))
            }
            nextSequence = batch.header.nextSequence
        }
        return waiting.first
    }
}
