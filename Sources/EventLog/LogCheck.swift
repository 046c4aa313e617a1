import Time

/// Checks files beside a log, such as its index or its snapshots, against the log.
///
/// ``EventLogs/verify(directory:onlyEnd:checks:progress:)`` runs the check after reading the log,
/// if the log is sound.
package protocol LogCheck {
    /// Whether the checked files are a cache, which is rebuilt when it is wrong. The problems of a cache are only
    /// notes.
    var checksCache: Bool { get }

    /// - Returns: The problems that were found.
    /// - Throws: Errors that prevent the check.
    func check(_ log: VerifiedLog) throws(EventLogError) -> [VerifyReport.Problem]
}

extension LogCheck {
    package var checksCache: Bool { false }
}

/// A sound log that was read to its end.
package struct VerifiedLog: Sendable {
    /// The log's own folder.
    package var directory: String
    package var name: String
    package var identity: LogIdentity
    /// The first sequences of its segments.
    package var segments: [UInt64]
    /// The log's last sequence.
    package var lastSequence: UInt64
    package var lastNow: Instant
    package var cursor: Cursor
}

/// Checks the cursors of a log against the upstream log in the same folder. The cursors must not go back. The upstream
/// log must have the identity that `upstream.json` gives. It must reach at least as far as the last cursor.
struct UpstreamCheck {
    private let directory: String
    private let note: UpstreamNote
    /// The position in the last cursor, and a problem that gives the place of its batch. If this position is after the
    /// upstream log's end, ``finish()`` reports the problem with another reason.
    private var last: (position: UInt64, problem: VerifyReport.Problem)?

    /// Nil for a log without `upstream.json`, such as the changes log.
    init?(directory: String) throws(EventLogError) {
        guard let note = try UpstreamNote.read(directory: directory) else { return nil }
        (self.directory, self.note) = (directory, note)
    }

    /// Checks a batch's cursor against the cursor before it.
    mutating func check(_ header: BatchHeader, file: String, offset: UInt64) -> VerifyReport.Problem? {
        guard let position = header.cursor.positions[note.log] else { return nil }
        let before = last?.position ?? 0
        let reason = "the cursor goes back from sequence \(before) of '\(note.log)' to \(position)"
        let problem = VerifyReport.Problem(file: file, offset: offset, sequence: header.firstSequence, reason: reason)
        last = (position, problem)
        return position < before ? problem : nil
    }

    /// Checks the upstream log's identity, and the last cursor against the upstream log's end. Nil if there is no
    /// problem, or if the upstream log is missing or cannot be read.
    ///
    /// Call this after the whole log was read. Both logs may grow while the log is read. So if the upstream log's end
    /// were looked up earlier, the last cursor could be after this end.
    func finish() throws(EventLogError) -> VerifyReport.Problem? {
        let upstream = LogDirectory.split(directory).folder + "/" + note.log
        let summary: LogSummary
        do throws(EventLogError) { summary = try EventLogs.summary(directory: upstream) } catch {
            // The upstream log is missing, or its own verification will report why it cannot be read.
            return nil
        }
        if summary.identity != note.identity {
            let reason =
                "the log was made from log '\(note.log)' with identity \(note.identity), but \(upstream) has identity "
                + "\(summary.identity)"
            return VerifyReport.Problem(
                file: UpstreamNote.path(in: directory), offset: 0, sequence: 1, reason: reason)
        }
        guard let last, last.position > summary.lastSequence else { return nil }
        var problem = last.problem
        problem.reason =
            "the cursor is at sequence \(last.position) of '\(note.log)', which ends with \(summary.lastSequence)"
        return problem
    }
}
