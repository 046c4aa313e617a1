import Time

/// A check of what lies beside a log against the log, such as of its index or its snapshots.
///
/// ``EventLogs/verify(directory:checks:progress:)`` runs it when it has read the log.
package protocol LogCheck {
    /// Whether it is of a cache, which is made anew or passed over where it is wrong: what is found is only noted then.
    var isOfCache: Bool { get }

    /// - Parameter log: What was read.
    /// - Returns: What is wrong, each with the file that it is wrong in.
    /// - Throws: What keeps the check from being made at all.
    func check(_ log: VerifiedLog) throws(EventLogError) -> [VerifyReport.Problem]
}

extension LogCheck {
    package var isOfCache: Bool { false }
}

/// A log that was read to its end.
package struct VerifiedLog: Sendable {
    /// The log's own folder.
    package var directory: String
    package var name: String
    package var identity: LogIdentity
    /// The first sequences of its segments.
    package var segments: [UInt64]
    /// The last sequence in whole batches that follow each other; what lies behind damage does not count.
    package var lastSequence: UInt64
    package var lastNow: Instant
    package var cursor: Cursor
}

/// Checks how far a log says that it has come against the log that it was made from.
///
/// That one is looked for in the same folder; where it is not there, only what the log itself says is checked.
struct UpstreamCheck {
    private let directory: String
    private let note: UpstreamNote
    private var last: (position: UInt64, place: VerifyReport.Problem)?

    /// Nil where the log is made from none.
    init?(directory: String) throws(EventLogError) {
        guard let note = try UpstreamNote.read(directory: directory) else { return nil }
        (self.directory, self.note) = (directory, note)
    }

    /// Takes note of a batch's cursor, and says if it goes back.
    mutating func take(_ header: BatchHeader, file: String, offset: UInt64) -> VerifyReport.Problem? {
        guard let position = header.cursor.positions[note.log] else { return nil }
        let before = last?.position ?? 0
        let reason = "the cursor goes back from sequence \(before) of '\(note.log)' to \(position)"
        let place = VerifyReport.Problem(file: file, offset: offset, sequence: header.firstSequence, reason: reason)
        last = (position, place)
        return position < before ? place : nil
    }

    /// To be called last: the other log may have grown while this one was read.
    func finish() throws(EventLogError) -> VerifyReport.Problem? {
        let upstream = LogDirectory.split(directory).folder + "/" + note.log
        let summary: LogSummary
        do throws(EventLogError) { summary = try EventLogs.summary(directory: upstream) } catch {
            // Not there, or damaged, which its own verification says.
            return nil
        }
        if summary.identity != note.identity {
            let reason = "the log was made from '\(note.log)' \(note.identity), and \(upstream) is \(summary.identity)"
            return VerifyReport.Problem(
                file: UpstreamNote.path(in: directory), offset: 0, sequence: 1, reason: reason)
        }
        guard let last, last.position > summary.lastSequence else { return nil }
        var place = last.place
        place.reason =
            "the cursor is at sequence \(last.position) of '\(note.log)', which ends with \(summary.lastSequence)"
        return place
    }
}
