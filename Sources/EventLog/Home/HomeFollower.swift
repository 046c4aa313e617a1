/// Keeps the local files of a log equal to the log in its home while another host writes the log. Belongs to one
/// thread.
@safe package final class HomeFollower {
    /// The position in the home of the last message that was read.
    package private(set) var position: UInt64
    private let writer: EventLogWriter
    private let home: any HomeLog
    private var reader: HomeReader
    private var noted: UInt64
    private let isKnown: Bool

    /// - Parameter options: The options of the log. They have a home.
    /// - Throws: As ``EventLogWriter/init(_:)``.
    package init(_ options: EventLogOptions) throws(EventLogError) {
        writer = try EventLogWriter(following: options)
        guard let home = writer.home else { preconditionFailure("a log without a home cannot be followed") }
        self.home = home
        let directory = LogDirectory(path: writer.directory, calls: writer.calls)
        let note = try HomeNote.read(in: writer.directory)
        reader = HomeReader(
            writer, note, try LocalBatches(directory, writer.identity, from: note), host: home.host)
        (position, noted, isKnown) = (note?.position ?? 0, note?.position ?? 0, note != nil)
    }

    /// The last event of the local files.
    package var lastSequence: UInt64 { writer.lastSequence }

    /// Whether this host was the last one to write the log, as far as the messages were read. True for a new log, too.
    package var isOwn: Bool { position == 0 || isKnown && !reader.hasOtherOwner }

    /// Reads the messages that the home has now, and appends their batches to the local files.
    ///
    /// - Throws: As ``EventLogWriter/init(_:)``. After an error the follower cannot be used any more.
    package func follow() throws(EventLogError) {
        position = try home.read(after: position) { message throws(EventLogError) in try reader.take(message) }
        guard reader.isAtLocalEnd, reader.lastBatches > noted else { return }
        try writer.commit.flush()
        noted = reader.lastBatches
        let note = HomeNote(
            position: noted, segment: writer.segmentFirst, offset: writer.logEnd.segmentBytes,
            sequence: writer.lastSequence, isFollowed: reader.hasOtherOwner)
        try note.write(to: HomeNote.open(in: writer.directory, calls: writer.calls), writer.calls)
    }

    /// Removes the segments whose events the home has removed, and the snapshots before these events.
    package func trim() throws(EventLogError) {
        guard let first = try home.firstSequence() else { return }
        let segments = writer.segmentsOnDisk
        let removed = try segments.removeFiles(try segments.removable(before: first))
        guard let last = removed.last else { return }
        try SnapshotStore(logDirectory: writer.directory).remove { snapshot in
            HomeSnapshot(name: snapshot.name, bytes: snapshot.bytes).sequence.map { $0 < last.lastSequence } ?? false
        }
    }

    /// Takes the log over in its home, if no message came after ``position``. Then ``position`` is that of the message
    /// that says so.
    ///
    /// - Returns: Whether this host owns the log now.
    package func takeOver() throws(EventLogError) -> Bool {
        guard let own = try home.takeOver(after: position) else { return false }
        position = own
        return true
    }

    /// Releases the local files for a writer.
    package func close() throws(EventLogError) { try writer.close() }
}
