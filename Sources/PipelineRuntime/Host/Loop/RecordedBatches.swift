import EventLog
import JSON
import PipelineKit
import Time

/// The batches of a stage's own log, one after the other, while the stage is fed its past: their `(cursor, now)` pairs say
/// when it was woken between two events, and their events what transports answered.
///
/// A batch means: feed the events up to its cursor, come to its time, then give the answers that it records. See
/// ``BatchAnswers``.
struct RecordedBatches {
    private let upstream: String
    private let reader: EventLogReader
    private var past: RecordedPast
    private let answers: RecordedAnswers?
    /// Those of the batch at hand.
    private var batch = BatchAnswers(handsOut: true)
    /// The last event of the stage's own log that its state includes.
    private let included: UInt64
    /// Where its past ends, though its log goes on.
    private let end: SnapshotMoment?

    /// - Parameters:
    ///   - start: What the stage's state includes; nil where it begins anew. Batches from before bring no later time than
    ///     it has.
    ///   - answers: How to read transports' answers from the stage's own events; nil for a stage without transports.
    ///   - unfinished: What the log's last batches are a part of.
    ///   - end: Batches from after that are none of the past; nil where all are.
    init(
        _ plan: HostPlan, upstream: String, after start: SnapshotMoment?, answers: RecordedAnswers?,
        unfinished: UnfinishedStep? = nil, through end: SnapshotMoment? = nil
    ) throws {
        self.end = end
        self.upstream = upstream
        self.answers = answers
        past = RecordedPast(
            upstream: upstream, after: start?.position ?? 0, feedsParts: answers != nil, leavingOut: unfinished)
        reader = try EventLogReader(directory: plan.logDirectory, from: .sequence(start?.firstRead ?? 1))
        included = start?.sequence ?? 0
        try step()
    }

    /// What to do before the stage gets an event of its input; nil where that event comes next.
    mutating func next(before sequence: UInt64) -> RecordedPast.Action? {
        let action = past.next(fedThrough: sequence - 1)
        if case .feed = action { return nil }
        return action
    }

    /// The event that the batch at hand says the stage never got; nil where there is none.
    var setAside: UInt64? { past.setAside }

    /// The answer that came at once; nil where it came later.
    mutating func takeAnswer(to id: Delivery.ID) -> TransportAnswer? { batch.atOnce(id) }

    /// The answers that came at the end of the batch at hand.
    mutating func takeAnswers() -> [TransportAnswer] { batch.takeRest() }

    /// Goes on to the next batch.
    mutating func step() throws {
        let header = try read()
        let isOver = header.map(isBeyondEnd) ?? true
        if isOver { batch = BatchAnswers(handsOut: true) }
        past.begin(isOver ? nil : header)
    }

    private func isBeyondEnd(_ header: BatchHeader) -> Bool {
        guard let end else { return false }
        let position = header.cursor.positions[upstream] ?? 0
        return header.lastSequence > end.sequence || position > end.position || header.now > end.now
    }

    private mutating func read() throws -> BatchHeader? {
        guard let answers else { return try reader.nextHeader() }
        let next = try reader.next()
        batch = BatchAnswers(
            next.map { answers.read($0, after: included) } ?? [], handsOut: next?.header.cursor.handsOut ?? true)
        return next?.header
    }
}
