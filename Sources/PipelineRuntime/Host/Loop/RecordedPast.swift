import EventLog
import Time

/// What a stage did in its past, and in which order, as the batches of its own log have it: a value that reads no file.
/// Whoever feeds a stage its past again tells it each batch, and does what it asks for: a host that starts, a snapshot's
/// maker, replay.
///
/// | State | What is asked for | What comes next |
/// |---|---|---|
/// | events | ``Action/feed(through:)`` the batch's cursor, then ``Action/advance(to:)`` its `now` | part |
/// | part | to feed one event more, where the batch holds a part of what it led to; then ``Action/settle`` | behind |
/// | behind | ``Action/readBatch`` | events, by ``begin(_:)`` |
/// | over | nothing | |
package struct RecordedPast: Hashable {
    package enum Action: Hashable {
        /// Feed the stage its input through this event.
        case feed(through: UInt64)
        /// Serve all deadlines up to a time, and come to it.
        case advance(to: Instant)
        /// Give the stage the answers that the batch has on record, and that it was not given yet.
        case settle
        /// Tell the next batch by ``begin(_:)``.
        case readBatch
    }

    private enum Place: Hashable { case events, part, behind, over }

    private let upstream: String
    private let feedsParts: Bool
    private let leftOut: UnfinishedStep?
    private var place = Place.behind
    private var now = Instant.epoch
    /// The last event of the input that the batches so far answer whole.
    package private(set) var cursor: UInt64
    /// What the batch holds a part of.
    package private(set) var unfinished: UnfinishedStep?
    /// The event that the stage never got, as the batch says; nil where there is none.
    package private(set) var setAside: UInt64?

    /// - Parameters:
    ///   - upstream: The name of the log that the stage reads.
    ///   - cursor: The last event that its state includes.
    ///   - feedsParts: Whether an event is fed that a batch holds a part of; else it is fed with the batch that ends it.
    ///   - leftOut: Of a wake that the log does not hold whole, nothing is fed.
    package init(upstream: String, after cursor: UInt64, feedsParts: Bool, leavingOut leftOut: UnfinishedStep? = nil) {
        (self.upstream, self.cursor, self.feedsParts, self.leftOut) = (upstream, cursor, feedsParts, leftOut)
    }

    /// - Parameter header: The next batch of the stage's own log; nil where the past is over.
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

    /// The stage's state includes its input through that event by other means.
    package mutating func pass(_ sequence: UInt64) { cursor = max(cursor, sequence) }

    /// What to do now; nil where the past is over.
    ///
    /// - Parameter fed: The last event of the input that the stage has got.
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
