import EventLog
import JSON

/// A key in the index beside a log: the hash of its kind and of a number, strings or bytes.
struct TraceKey: Hashable, Sendable {
    /// The raw values are part of the index files: raise the version of ``KeyScheme/trace`` when they change.
    enum Kind: UInt8 {
        /// Each change that led to a match, a notification, a push, an outcome or an attempt. In a `coalesced` event,
        /// the change of the replaced match.
        case change = 1
        /// A record's name, in a change, a match or a notification.
        case record
        case notification
        case apnsID
        /// A device's name: in a command about the device, a change that it made, or an event of deliver.
        case device
        /// The receiver in a match, a notification, a `coalesced` event, a push or an event of deliver.
        case user
        /// The user in an event that has a ``content`` key, in `device.retired` or in `notice.*`.
        case userState
        case subscription
        /// A user and the ID of one of the user's subscriptions.
        case userSubscription
        /// The sequence of the push that an event of deliver is about.
        case push
        /// The replaced match, in a `coalesced` event.
        case match
        /// The match that replaced another, in a `coalesced` event.
        case replacement
        /// The number of a block of 1000 changes: 0 for the changes 1 to 1000. A `not_matched` event has one such key
        /// for each block with changes in its range.
        case unmatched
        /// The sequence of the event that a dead letter is about.
        case deadLetter
        /// The canonical form of a command other than a change, such as `device.register`, `subscription.save` or
        /// `push.redrive`, or of an event of a plugin's own type. A copy in a later log has the same key.
        case content
        /// The device in an event that has a ``content`` key, in `device.retired` or in `notice.*`.
        case deviceState
        /// The token that a device registers with.
        case token
        /// The sequence of the push that a `push.redrive` event sends again.
        case redrive
        /// Any `app.*` event. All of these events have the same key, with the number 0.
        case app
    }

    let hash: UInt64

    init(_ kind: Kind, _ number: UInt64) {
        var hash = KeyHash(kind: kind.rawValue)
        hash.absorb(number)
        self.hash = hash.value
    }

    init(_ kind: Kind, _ texts: ExactText...) {
        var hash = KeyHash(kind: kind.rawValue)
        for text in texts { hash.absorb(text.string) }
        self.hash = hash.value
    }

    init(content: [UInt8]) {
        var hash = KeyHash(kind: Kind.content.rawValue)
        content.withUnsafeBytes { hash.absorb($0) }
        self.hash = hash.value
    }

    /// Nil if the value is missing or not a string.
    init?(_ kind: Kind, texts value: JSONValue?) {
        var hash = KeyHash(kind: kind.rawValue)
        guard value?.withUTF8({ hash.absorb($0) }) != nil else { return nil }
        self.hash = hash.value
    }

    /// Nil if a value is missing or not a string.
    init?(_ kind: Kind, texts value: JSONValue?, _ other: JSONValue?) {
        var hash = KeyHash(kind: kind.rawValue)
        guard value?.withUTF8({ hash.absorb($0) }) != nil, other?.withUTF8({ hash.absorb($0) }) != nil else {
            return nil
        }
        self.hash = hash.value
    }

    static func thousand(of change: UInt64) -> UInt64 { (max(change, 1) - 1) / 1_000 }
}
