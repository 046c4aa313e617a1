import Time

/// An error that keeps the connection to a link or a door from working. Most descriptions say what the operator can do.
package enum LinkError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The other side speaks another version of the protocol, or refuses the request.
    case refused(endpoint: String, code: String, reason: String)
    /// The upstream's log is not the log that this stage's log was made from.
    case otherUpstream(endpoint: String, expected: LogIdentity, found: LogIdentity)
    /// The upstream's log ends at `last`, but this stage has already handled a later event, `taken`. So the upstream
    /// has lost events.
    case upstreamLost(endpoint: String, log: String, taken: UInt64, last: UInt64)
    /// The other side refuses the connection.
    case connectionRefused(endpoint: String, ConnectionRefusal, purpose: String)
    /// No answer in time.
    case silent(endpoint: String, waited: Duration)

    package var description: String {
        switch self {
        case .refused(let endpoint, let code, let reason): "\(endpoint): \(reason) (\(code))"
        case .otherUpstream(let endpoint, let expected, let found):
            """
            \(endpoint): the log there is \(found), but this stage's log was made from \(expected); \
            connect to the right upstream, or start with an empty log
            """
        case .upstreamLost(let endpoint, let log, let taken, let last):
            """
            \(endpoint): this stage's log includes event \(taken) of '\(log)', but '\(log)' now ends at \(last); \
            the upstream has lost events (its log was restored from a copy, or it lost them in a power cut, which can \
            happen unless `log.sync` is `always`)
            """
        case .connectionRefused(let endpoint, let refusal, let purpose): "\(endpoint): \(refusal.text(purpose))"
        case .silent(let endpoint, let waited):
            "\(endpoint): no answer for \(waited); is the stage running? (`belfry up FILE` starts it)"
        }
    }
}

extension ConnectionRefusal {
    /// - Parameter purpose: `producing` or `reading`.
    fileprivate func text(_ purpose: String) -> String {
        switch self {
        case .keyNotListed(let key):
            """
            the key \(key) is not listed for \(purpose) there; list it under `curve: \
            \(purpose == "producing" ? "producers" : "readers")` of the stage in its pipeline file and reload it, or use another key
            """
        case .keyRequired: "a key is required for \(purpose) there, but no key was given"
        case .serverHasNoKeys: "a key was given, but the stage there has no keys (`curve:`)"
        case .otherServerKey(let keys):
            """
            the other side hangs up: it has another key than \(keys.joined(separator: " or ")), or is just starting; \
            compare with the public key in its pipeline file
            """
        }
    }
}
