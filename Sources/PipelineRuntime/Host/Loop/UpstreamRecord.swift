import EventLog
import Time

/// The name and identity of the upstream log that a stage's log was made from, in a file beside the stage's log. The
/// stage must not read another log, because the stage's cursor is a position in the recorded log.
struct UpstreamRecord {
    private let directory: String

    init(_ plan: HostPlan) { directory = plan.logDirectory }

    /// Nil if the log is new or the record is unreadable. In the second case ``checkOrRecord(_:_:endpoint:beside:)`` throws
    /// the error.
    func recorded() -> (name: String, LogIdentity)? {
        do throws(EventLogError) {
            return try UpstreamNote.read(directory: directory).map { ($0.log, $0.identity) }
        } catch { return nil }
    }

    /// Records the upstream log if the stage has no record yet.
    ///
    /// - Throws: ``LinkError/otherUpstream(endpoint:expected:found:)`` if another log is recorded, or the error of a
    ///   file.
    func checkOrRecord(
        _ log: String, _ identity: LogIdentity, endpoint: String, beside own: EventLogWriter
    ) throws {
        guard let recorded = try UpstreamNote.read(directory: directory) else {
            let note = UpstreamNote(log: log, identity: identity)
            try AtomicTextFile.write(note.text, to: UpstreamNote.path(in: directory))
            return try own.keepInHome(UpstreamNote.fileName, note.text)
        }
        guard recorded.identity == identity else {
            throw LinkError.otherUpstream(endpoint: endpoint, expected: recorded.identity, found: identity)
        }
    }
}
