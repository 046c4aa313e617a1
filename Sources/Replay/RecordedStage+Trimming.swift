import EventLog

/// What is left of a stage's logs when their first segments are gone.
extension RecordedStage {
    private var firstOfInput: UInt64 { (upstream ?? log).firstSequence }

    /// Whether the beginning of its input or of its own log is gone.
    var isTrimmed: Bool { firstOfInput > 1 || log.firstSequence > 1 }

    /// Whether the logs hold all that comes after a snapshot.
    func covers(_ header: SnapshotHeader) -> Bool {
        header.position + 1 >= firstOfInput && header.sequence + 1 >= log.firstSequence
    }

    /// - Throws: ``ReplayError/trimmed(log:first:)`` where nothing can be replayed from the beginning.
    func checkBeginning() throws(ReplayError) {
        if firstOfInput > 1 { throw .trimmed(log: (upstream ?? log).name, first: firstOfInput) }
        if log.firstSequence > 1 { throw .trimmed(log: log.name, first: log.firstSequence) }
    }

    /// A reader of its own log for what comes after a start.
    ///
    /// Wakes that came after the last event before may stand in the segment of that one, where it was full by then.
    func ownReader(after start: StageStart) throws(EventLogError) -> EventLogReader {
        let first = max(start.sequence, log.firstSequence, 1)
        return try EventLogReader(directory: log.directory, from: .sequence(first))
    }
}
