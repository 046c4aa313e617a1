import EventLog
import JSON

/// What an event is found by.
enum TraceKey: Hashable, Sendable {
    /// A change of which the event tells: a match, a notification, a push, an outcome.
    case change(UInt64)
    /// A record's name, in a change, a match or a notification.
    case record(ExactText)
    case notification(ExactText)
    case apnsID(ExactText)
    /// A device's name: in its registration, a change that it made, an outcome.
    case device(ExactText)
    /// Whom an event of the pipeline is for.
    case user(ExactText)
    /// The user whose device or subscription a `device.*` or `subscription.*` event is about.
    case userState(ExactText)
    /// The device that a `device.*` event is about.
    case deviceState(ExactText)
    /// The token that a device registers with.
    case token(ExactText)
    case subscription(ExactText)
    case userSubscription(user: ExactText, ExactText)
    /// The push of which an outcome tells, by its sequence.
    case push(UInt64)
    /// That an app was stopped, or resumed.
    case app
    /// The match that a `coalesced` event says was replaced, and the one that replaced it.
    case match(UInt64)
    case replacement(UInt64)
    /// The thousand of changes that a `not_matched` event counts in: 0 for the changes 1 to 1000.
    case unmatched(UInt64)
    /// The event that a dead letter is about, by its sequence.
    case deadLetter(UInt64)
    /// The push that a `push.redrive` event sends again, by its sequence.
    case redrive(UInt64)
    /// A `device.*`, `subscription.*` or `push.redrive` event itself, as stages pass it on: its canonical form.
    case content([UInt8])

    var hash: UInt64 {
        switch self {
        case .change(let number): TraceHash.of(.change, number)
        case .record(let name): TraceHash.of(.record, name)
        case .notification(let id): TraceHash.of(.notification, id)
        case .apnsID(let id): TraceHash.of(.apnsID, id)
        case .device(let name): TraceHash.of(.device, name)
        case .user(let name): TraceHash.of(.user, name)
        case .userState(let name): TraceHash.of(.userState, name)
        case .deviceState(let name): TraceHash.of(.deviceState, name)
        case .token(let token): TraceHash.of(.token, token)
        case .subscription(let id): TraceHash.of(.subscription, id)
        case .userSubscription(let user, let id): TraceHash.of(.userSubscription, user, id)
        case .push(let number): TraceHash.of(.push, number)
        case .app: TraceHash.of(.app, 0)
        case .match(let number): TraceHash.of(.match, number)
        case .replacement(let number): TraceHash.of(.replacement, number)
        case .unmatched(let thousand): TraceHash.of(.unmatched, thousand)
        case .deadLetter(let number): TraceHash.of(.deadLetter, number)
        case .redrive(let number): TraceHash.of(.redrive, number)
        case .content(let bytes): TraceHash.of(content: bytes)
        }
    }

    static func thousand(of change: UInt64) -> UInt64 { (max(change, 1) - 1) / 1_000 }
}

/// The hashes of keys, from texts as users give them and as events have them.
enum TraceHash {
    enum Kind: UInt8 {
        case change = 1
        case record, notification, apnsID, device, user, userState, subscription, userSubscription, push, match
        case replacement, unmatched, deadLetter, content, deviceState, token, redrive, app
    }

    static func of(_ kind: Kind, _ number: UInt64) -> UInt64 {
        var hash = KeyHash(kind: kind.rawValue)
        hash.absorb(number)
        return hash.value
    }

    static func of(_ kind: Kind, _ texts: ExactText...) -> UInt64 {
        var hash = KeyHash(kind: kind.rawValue)
        for text in texts { hash.absorb(text.string) }
        return hash.value
    }

    static func of(content: [UInt8]) -> UInt64 {
        var hash = KeyHash(kind: Kind.content.rawValue)
        content.withUnsafeBytes { hash.absorb($0) }
        return hash.value
    }

    /// Nil where a value is missing or no text.
    static func of(_ kind: Kind, _ value: JSONValue?) -> UInt64? {
        var hash = KeyHash(kind: kind.rawValue)
        guard absorb(value, into: &hash) else { return nil }
        return hash.value
    }

    static func of(_ kind: Kind, _ value: JSONValue?, _ other: JSONValue?) -> UInt64? {
        var hash = KeyHash(kind: kind.rawValue)
        guard absorb(value, into: &hash), absorb(other, into: &hash) else { return nil }
        return hash.value
    }

    private static func absorb(_ value: JSONValue?, into hash: inout KeyHash) -> Bool {
        value?.withUTF8 { hash.absorb($0) } != nil
    }
}
