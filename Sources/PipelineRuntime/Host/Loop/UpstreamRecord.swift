import EventLog
import Time

/// Which upstream log a stage's log was made from, kept beside it: a cursor means nothing in another log.
struct UpstreamRecord {
    private let directory: String

    init(_ plan: HostPlan) { directory = plan.logDirectory }

    /// The log that this one was made from; nil in a new log, or where only ``check(_:_:endpoint:)`` can say why not.
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
