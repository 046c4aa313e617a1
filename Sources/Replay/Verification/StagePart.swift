import EventLog
import Time

/// The part of a stage's log to compare: batches with events from `first` to `last`.
package struct StagePart: Hashable, Sendable {
    package var first: UInt64 = 1
    package var last: UInt64 = .max

    static let all = StagePart()
}

/// Where a machine begins: at the logs' beginning or at a snapshot. In a what-if, the start may also be a later event,
/// up to which the machine was fed.
struct StageStart: Hashable {
    /// The last input event that the machine's state includes.
    var cursor: UInt64 = 0
    /// The last event of the stage's own log before the start.
    var sequence: UInt64 = 0
    /// The snapshot's time, even if the machine was fed more events after it. Without a snapshot, the epoch.
    var now = Instant.epoch

    static let beginning = StageStart()
}

extension StageStart {
    init(_ snapshot: SnapshotHeader) {
        self.init(cursor: snapshot.position, sequence: snapshot.sequence, now: snapshot.now)
    }

    /// Whether a batch of the stage's own log is before the start. For a batch without events, cursor and time decide.
    func includes(_ header: BatchHeader) -> Bool {
        guard header.lastSequence <= sequence else { return false }
        return header.count > 0 || header.now <= now && header.cursor.input?.position ?? 0 <= cursor
    }
}
