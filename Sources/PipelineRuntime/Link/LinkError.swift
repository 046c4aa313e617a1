import EventLog

/// What keeps a link from working, in words an operator can act on.
public enum LinkError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The other side speaks another version or refuses us.
    case refused(endpoint: String, code: String, reason: String)
    /// The upstream's log is not the one our log was made from.
    case otherUpstream(endpoint: String, expected: LogIdentity, found: LogIdentity)
    /// Our log has taken in more than the upstream's log holds.
    case upstreamLost(endpoint: String, log: String, taken: UInt64, holds: UInt64)
    /// No answer in time.
    case silent(endpoint: String, waited: Duration)

    public var description: String {
        switch self {
        case .refused(let endpoint, let code, let reason): "\(endpoint): \(reason) (\(code))"
        case .otherUpstream(let endpoint, let expected, let found):
            """
            \(endpoint): the log there is \(found), but ours was made from \(expected); \
            connect to the right upstream, or start with an empty log
            """
        case .upstreamLost(let endpoint, let log, let taken, let holds):
            """
            \(endpoint): our log has taken in event \(taken) of '\(log)', which now ends at \(holds); \
            the upstream has lost events (a log restored from a copy, or a power cut under `sync: interval`)
            """
        case .silent(let endpoint, let waited): "\(endpoint): no answer for \(waited); is the stage running?"
        }
    }
}
