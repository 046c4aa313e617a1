import EventLog

/// Stages whose logs no longer have their first segments.
extension RecordedStage {
    private var firstOfInput: UInt64 { (upstream ?? log).firstSequence }

    /// Whether the first events of the stage's input or of its own log are gone.
    var isTrimmed: Bool { firstOfInput > 1 || log.firstSequence > 1 }

    /// Whether the logs still hold every event after the snapshot.
    func covers(_ header: SnapshotHeader) -> Bool {
        header.position + 1 >= firstOfInput && header.sequence + 1 >= log.firstSequence
    }

    /// - Throws: ``ReplayError/trimmed(log:first:)`` when the logs cannot be replayed from the beginning.
    func checkBeginning() throws(ReplayError) {
        if firstOfInput > 1 { throw .trimmed(log: (upstream ?? log).name, first: firstOfInput) }
        if log.firstSequence > 1 { throw .trimmed(log: log.name, first: log.firstSequence) }
    }

    /// A reader of the stage's own log that includes every batch after `start`.
    ///
    /// It begins with the event at `start`, because batches without events may follow that event in the same segment.
    func ownReader(after start: StageStart) throws(EventLogError) -> EventLogReader {
        let first = max(start.sequence, log.firstSequence, 1)
        return try EventLogReader(directory: log.directory, from: .sequence(first))
    }
}
