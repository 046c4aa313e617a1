import EventLog
import Time

/// Which part of a stage's log counts.
package struct StagePart: Hashable, Sendable {
    /// Sequences of the stage's own log; batches that lie wholly before are not compared.
    package var first: UInt64 = 1
    package var last: UInt64 = .max

    package static let all = StagePart()
}

/// Where a machine begins: at the logs' beginning, or with the state of a snapshot.
package struct StageStart: Hashable, Sendable {
    /// The last event of the input that the machine's state includes.
    package var cursor: UInt64 = 0
    /// The last event of the stage's own log that lies before.
    package var sequence: UInt64 = 0
    package var now = Instant.epoch

    package static let beginning = StageStart()
}

extension StageStart {
    init(_ snapshot: SnapshotHeader) {
        self.init(cursor: snapshot.position, sequence: snapshot.sequence, now: snapshot.now)
    }

    /// Whether a batch of the stage's own log lies before. Of one without events, cursor and time decide.
    func includes(_ header: BatchHeader) -> Bool {
        guard header.lastSequence <= sequence else { return false }
        return header.count > 0 || header.now <= now && header.cursor.input?.position ?? 0 <= cursor
    }
}
