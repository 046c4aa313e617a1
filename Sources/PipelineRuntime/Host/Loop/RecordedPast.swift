import EventLog
import Time

/// What a stage did in the past, in order, as the batches of its own log record it. This value reads no file. Its
/// caller gives it each batch and does the actions that it asks for. The callers are a host at its start, a
/// ``SnapshotMaker``, and a replay.
///
/// | State | What is asked for | What comes next |
/// |---|---|---|
/// | events | ``Action/feed(through:)`` the batch's cursor, then ``Action/advance(to:)`` its `now` | part |
/// | part | feed an event that the batch leaves unfinished, if `feedsParts`; then ``Action/settle`` | behind |
/// | behind | ``Action/readBatch`` | events or over, by ``begin(_:)`` |
/// | over | nothing | |
package struct RecordedPast: Hashable {
    package enum Action: Hashable {
        /// Feed the stage its input through this event.
        case feed(through: UInt64)
        /// Wake the stage for each deadline up to a time, and advance to this time.
        case advance(to: Instant)
        /// Give the stage the remaining answers that the batch records.
        case settle
        /// Read the next batch and call ``begin(_:)``.
        case readBatch
    }

    private enum Place: Hashable { case events, part, behind, over }

    private let upstream: String
    private let feedsParts: Bool
    private let leftOut: UnfinishedStep?
    private var place = Place.behind
    private var now = Instant.epoch
    /// The last input event whose outputs are complete in the batches so far.
    package private(set) var cursor: UInt64
    /// The step that the batch begins or continues, but does not finish. Nil if the batch finishes its steps.
    package private(set) var unfinished: UnfinishedStep?
    /// The event that the batch sets aside. Nil if the batch sets no event aside.
    package private(set) var setAside: UInt64?

    /// - Parameters:
    ///   - upstream: The name of the log that the stage reads.
    ///   - cursor: The last event that the stage's state includes.
    ///   - feedsParts: When to feed an event whose outputs fill several batches: if true, at the first of these
    ///     batches; if false, at the last.
    ///   - leftOut: An unfinished step at the log's end, or nil. If it is a wake, its batches are skipped.
    package init(upstream: String, after cursor: UInt64, feedsParts: Bool, leavingOut leftOut: UnfinishedStep? = nil) {
        (self.upstream, self.cursor, self.feedsParts, self.leftOut) = (upstream, cursor, feedsParts, leftOut)
    }

    /// - Parameter header: The next batch of the stage's own log; nil at its end.
    package mutating func begin(_ header: BatchHeader?) {
        guard let header, !isOfUnfinishedWake(header) else {
            (place, setAside) = (.over, nil)
            return
        }
        (place, now, setAside) = (.events, header.now, header.cursor.setAside)
        unfinished = UnfinishedStep(header.cursor, of: upstream)
        pass(header.cursor.positions[upstream] ?? 0)
    }

    private func isOfUnfinishedWake(_ header: BatchHeader) -> Bool {
        leftOut.map { $0.kind == .wake && header.lastSequence >= $0.first } ?? false
    }

    /// Moves ``cursor`` to this event, but never back. A replay calls this after it has fed the stage input beyond the
    /// last batch's cursor.
    package mutating func pass(_ sequence: UInt64) { cursor = max(cursor, sequence) }

    /// The next action for a stage that was fed through an event; nil at the end of the past.
    package mutating func next(fedThrough fed: UInt64) -> Action? {
        switch place {
        case .events:
            if fed < cursor { return .feed(through: cursor) }
            place = .part
            return .advance(to: now)
        case .part:
            if feedsParts, unfinished?.kind == .event, fed <= cursor { return .feed(through: cursor + 1) }
            place = .behind
            return .settle
        case .behind: return .readBatch
        case .over: return nil
        }
    }
}
