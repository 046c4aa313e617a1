import EventLog
import Time

/// The upstream log that a stage's log was made from, kept beside it: a cursor is useless for another log.
struct UpstreamRecord {
    private let directory: String

    init(_ plan: HostPlan) { directory = plan.logDirectory }

    /// Nil in a new log, and where the record is unreadable, which ``check(_:_:endpoint:)`` reports.
    func recorded() -> (name: String, LogIdentity)? {
        do throws(EventLogError) {
            return try UpstreamNote.read(directory: directory).map { ($0.log, $0.identity) }
        } catch { return nil }
    }

    func check(_ log: String, _ identity: LogIdentity, endpoint: String) throws {
        guard let recorded = try UpstreamNote.read(directory: directory) else {
            let note = UpstreamNote(log: log, identity: identity)
            return try AtomicTextFile.write(note.text, to: UpstreamNote.path(in: directory))
        }
        guard recorded.identity == identity else {
            throw LinkError.otherUpstream(endpoint: endpoint, expected: recorded.identity, found: identity)
        }
    }
}
