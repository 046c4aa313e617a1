import JSON

/// A name by which events are found.
package enum SoughtName: Hashable {
    /// Whose device or subscription the event is about.
    case user(ExactText)
    case device(ExactText)
    /// Whom a match, a notification, a push or an outcome is for.
    case receiver(ExactText)
    case subscription(ExactText)
    /// Of a match.
    case userSubscription(user: ExactText, ExactText)
    case record(ExactText)
    case token(ExactText)

    var texts: [ExactText] {
        switch self {
        case .user(let text), .device(let text), .receiver(let text), .subscription(let text), .record(let text),
            .token(let text):
            [text]
        case .userSubscription(let user, let subscription): [user, subscription]
        }
    }
}

/// Finds events anywhere in a log by the names in them.
package protocol EventFinder {
    /// Calls `body` with every event from `first` through `last` that may hold all of the names as texts, in order,
    /// until it returns false. Other events may come too: the caller checks each.
    func events(
        in log: String, from first: UInt64, through last: UInt64, naming names: [SoughtName],
        _ body: (LogScan.Event) throws -> Bool
    ) throws
}
