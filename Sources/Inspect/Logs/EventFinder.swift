import JSON

/// A name to find in events: one name, or a user and a subscription that occur together.
package struct SearchName {
    let texts: [ExactText]
    let key: TraceKey

    private init(_ kind: TraceKey.Kind, _ name: ExactText) { (texts, key) = ([name], TraceKey(kind, name)) }

    /// The user whose device, subscription or badge an event is about.
    static func user(_ name: ExactText) -> SearchName { SearchName(.userState, name) }
    static func device(_ name: ExactText) -> SearchName { SearchName(.deviceState, name) }
    /// The user that a match, a notification, a push or an outcome is for.
    static func receiver(_ name: ExactText) -> SearchName { SearchName(.user, name) }
    static func subscription(_ id: ExactText) -> SearchName { SearchName(.subscription, id) }
    static func record(_ name: ExactText) -> SearchName { SearchName(.record, name) }
    static func token(_ token: ExactText) -> SearchName { SearchName(.token, token) }

    init(receiver: ExactText, subscription: ExactText) {
        (texts, key) = ([receiver, subscription], TraceKey(.userSubscription, receiver, subscription))
    }
}

/// Finds events in a log by the names in them.
package protocol EventFinder {
    /// Calls `body` in order with each event from `first` through `last` that contains all names, until `body` returns
    /// false. Each name must occur in the role that its ``SearchName`` has, such as the receiver of a push.
    ///
    /// `body` may also get events that lack one of these names or roles, so it must check each event.
    func events(
        in log: String, from first: UInt64, through last: UInt64, naming names: [SearchName],
        _ body: (LogScan.Event) throws -> Bool
    ) throws
}
