import EventLog
import Events
import JSON
import PipelineKit
import PipelineRuntime
import Time

/// Compares what a machine rejects with the log of dead letters that its stage's host kept.
struct DeadLetterComparison {
    private let stage: String
    private let log: String
    private let upstream: String
    private let lines: LogLines?

    /// - Parameter cursor: Letters of events up to here are from before.
    init(_ recorded: RecordedStage, after cursor: UInt64) throws(EventLogError) {
        stage = recorded.name
        log = recorded.log.name + ".dead-letters"
        upstream = recorded.context.upstreamName
        lines = if let path = recorded.deadLetters { try LogLines(log: path) } else { nil }
        guard cursor > 0 else { return }
        while let line = try lines?.peek(), EventMember.sequence(in: line.text) ?? 0 <= cursor { _ = try lines?.next() }
    }

    /// - Parameter isSkipped: Whether the letters are from before the part that counts.
    func compare(_ rejected: [Outbox.Rejected], isSkipped: Bool) throws -> ReplayDifference? {
        for letter in rejected {
            var text = ByteBuffer()
            letter.write(ofStage: stage, log: upstream, to: &text)
            let replayed = String(text.text.dropLast())
            if try isFromBefore(letter.sequence) { continue }
            let recorded = try lines?.next()
            if isSkipped || recorded.map({ ExactText($0.text) }) == ExactText(replayed) { continue }
            return difference(recorded, replayed, of: letter.sequence)
        }
        return nil
    }

    /// An event that the stage's log says it crashed on: how it ended is on record only in its letter.
    func compareCrash(at sequence: UInt64, isSkipped: Bool) throws -> ReplayDifference? {
        if try isFromBefore(sequence) { return nil }
        let recorded = try lines?.next()
        if isSkipped { return nil }
        if let text = recorded?.text, EventMember.sequence(in: text) == sequence,
            EventMember.code(in: text) == SetAsideEvents.code
        {
            return nil
        }
        return difference(recorded, nil, of: sequence)
    }

    /// Whether a letter is older than all that is left of a log whose beginning is gone.
    private func isFromBefore(_ sequence: UInt64) throws -> Bool {
        guard let lines, lines.isTrimmed else { return false }
        guard let next = try lines.peek() else { return lines.nextSequence == 1 }
        return sequence < EventMember.sequence(in: next.text) ?? 0
    }

    /// A letter that the log holds and the replay does not give.
    ///
    /// - Parameter last: Letters of events behind this one are from a batch that never came.
    func rest(through last: UInt64) throws -> ReplayDifference? {
        guard let recorded = try lines?.peek(), let sequence = EventMember.sequence(in: recorded.text), sequence <= last
        else { return nil }
        return difference(recorded, nil, of: sequence)
    }

    private func difference(_ recorded: LogLines.Line?, _ replayed: String?, of sequence: UInt64) -> ReplayDifference {
        ReplayDifference(
            stage: stage, log: log, sequence: recorded?.sequence ?? lines?.nextSequence ?? 1, recorded: recorded?.text,
            replayed: replayed, cause: .event(log: upstream, sequence: sequence, text: nil))
    }
}

/// The events of a log, one at a time; for logs that are short.
final class LogLines {
    struct Line {
        var sequence: UInt64
        var text: String
        var now: Instant
    }

    private let reader: EventLogReader
    private var waiting: ArraySlice<Line> = []
    private(set) var nextSequence: UInt64 = 1

    init(log: String, from start: EventLogReader.Start = .beginning) throws(EventLogError) {
        reader = try EventLogReader(directory: log, from: start)
        isTrimmed = try EventLogs.summary(directory: log).firstSequence > 1
    }

    /// Whether its first events are gone.
    let isTrimmed: Bool

    func next() throws(EventLogError) -> Line? {
        _ = try peek()
        return waiting.popFirst()
    }

    func peek() throws(EventLogError) -> Line? {
        while waiting.isEmpty, let batch = try reader.next() {
            waiting = LogLines.lines(of: batch)[...]
            nextSequence = batch.header.nextSequence
        }
        return waiting.first
    }

    private static func lines(of batch: EventLogReader.Batch) -> [Line] {
        zip(batch.header.firstSequence..., Lines(batch.body)).map {
            Line(sequence: $0, text: String(decoding: $1, as: UTF8.self), now: batch.header.now)
        }
    }
}

enum EventMember {
    /// The member `sequence` of an event.
    static func sequence(in text: String) -> UInt64? { read(text) { $0.natural(.sequence) } }

    /// The member `code` of an event.
    static func code(in text: String) -> String? { read(text) { $0.text(.code) } }

    private static func read<Value>(_ text: String, _ member: (JSONValue) -> Value?) -> Value? {
        var parser = JSONParser(limits: EventReader.linkLimits)
        return Array(text.utf8).withUnsafeBytes { bytes in
            do throws(JSONError) { return member(try parser.parse(bytes)) } catch { return nil }
        }
    }
}
