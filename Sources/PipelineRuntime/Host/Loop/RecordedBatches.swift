import EventLog
import JSON
import PipelineKit
import Time

/// Reads the batches of a stage's own log during a rebuild. Their `(cursor, now)` pairs say when the stage was woken
/// between two events; their events record the transports' answers.
///
/// Each batch asks for three actions: feed the events up to its cursor, advance to its time, give the answers that it
/// records. See ``RecordedPast`` and ``BatchAnswers``.
struct RecordedBatches {
    private let upstream: String
    private let reader: EventLogReader
    private var past: RecordedPast
    private let answers: RecordedAnswers?
    private var batchAnswers = BatchAnswers(leavesUnanswered: true)
    /// The last event of the stage's own log that the rebuild's first state includes.
    private let included: UInt64
    /// Where the rebuild ends, even if the log continues.
    private let end: SnapshotMoment?

    /// - Parameters:
    ///   - start: The snapshot that the rebuild starts from; nil without one.
    ///   - answers: How to read transports' answers from the stage's own events; nil for a stage without transports.
    ///   - unfinished: A step of which the log's last batches contain only a part.
    ///   - end: Where the rebuild ends; nil to read the whole log.
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
        try readBatch()
    }

    /// What to do before the stage gets this event; nil if the event comes next, or if no batch is left.
    mutating func next(before sequence: UInt64) -> RecordedPast.Action? {
        let action = past.next(fedThrough: sequence - 1)
        if case .feed = action { return nil }
        return action
    }

    var setAside: UInt64? { past.setAside }

    /// The answer to a push, if it came at once; nil if a later batch has the answer.
    mutating func takeAnswer(to id: Delivery.ID) -> TransportAnswer? { batchAnswers.takeImmediateAnswer(to: id) }

    /// The answers at the end of the current batch.
    mutating func takeAnswers() -> [TransportAnswer] { batchAnswers.takeAnswersToEarlierPushes() }

    mutating func readBatch() throws {
        let header = try readHeader()
        let isOver = header.map(isBeyondEnd) ?? true
        if isOver { batchAnswers = BatchAnswers(leavesUnanswered: true) }
        past.begin(isOver ? nil : header)
    }

    private func isBeyondEnd(_ header: BatchHeader) -> Bool {
        guard let end else { return false }
        let position = header.cursor.positions[upstream] ?? 0
        return header.lastSequence > end.sequence || position > end.position || header.now > end.now
    }

    private mutating func readHeader() throws -> BatchHeader? {
        guard let answers else { return try reader.nextHeader() }
        let next = try reader.next()
        batchAnswers = BatchAnswers(
            next.map { answers.read($0, after: included) } ?? [],
            leavesUnanswered: next?.header.cursor.hasUnansweredPushes ?? true)
        return next?.header
    }
}
