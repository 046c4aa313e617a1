import JSON

/// A type of event, with its members.
package struct EventType: Sendable {
    /// The kind of a member's value.
    package enum Kind: Sendable, Hashable {
        case text
        /// One of these words.
        case words([String])
        /// A whole number from 1: a position in a log.
        case sequence
        /// A whole number from 0.
        case count
        case flag
        /// A time as text (RFC 3339). The form of the text is not checked.
        case time
        case object
        case list
    }

    /// What the type declares about one member of its events.
    package struct Entry: Sendable {
        package let member: Member
        package let kind: Kind
        package let isRequired: Bool
        /// The first version of Belfry that writes the member.
        package let since: String
    }

    package let name: StaticString
    /// The log of the stage that takes the command or writes the event; nil for dead letters. Later logs may have the
    /// event too, because stages pass on events that they do not use.
    package let log: LogKind?
    /// The event's meaning in one sentence.
    package let summary: String
    package let entries: [Entry]

    init(_ name: StaticString, in log: LogKind?, _ summary: String, _ entries: [Entry]) {
        (self.name, self.log, self.summary) = (name, log, summary)
        self.entries = [.required(.type, .words([name.description]))] + entries
    }
}

extension EventType.Entry {
    static func required(_ member: Member, _ kind: EventType.Kind, since: String = "1") -> Self {
        Self(member: member, kind: kind, isRequired: true, since: since)
    }

    static func optional(_ member: Member, _ kind: EventType.Kind, since: String = "1") -> Self {
        Self(member: member, kind: kind, isRequired: false, since: since)
    }
}

// MARK: - Checking

extension EventType {
    /// The type of an event; nil if the event has no type, or a type that is not declared.
    package static func of(_ event: JSONValue) -> EventType? {
        guard let type = event[.type] else { return nil }
        return all.first { type.equals($0.name) }
    }

    /// The differences between the event and its declaration, each as `member: problem`.
    package func problems(of event: JSONValue) -> [String] {
        var problems: [String] = []
        for entry in entries where entry.isRequired && event[entry.member] == nil {
            problems.append("\(entry.member): missing")
        }
        for (key, value) in event.members {
            if let entry = entries.first(where: { key.equals($0.member) }) {
                if !entry.kind.accepts(value) { problems.append("\(entry.member): expected \(entry.kind.text)") }
            } else {
                problems.append("\(key.string ?? ""): not declared")
            }
        }
        return problems
    }
}

extension EventType.Kind {
    /// Whether a member of this kind may have this value. Any string is accepted as a time.
    package func accepts(_ value: JSONValue) -> Bool {
        switch self {
        case .text, .time: value.isString
        case .words(let words): value.string.map(words.contains) ?? false
        case .sequence: value.int64.map { $0 > 0 } ?? false
        case .count: value.int64.map { $0 >= 0 } ?? false
        case .flag: value.bool != nil
        case .object: value.isObject
        case .list: value.isArray
        }
    }
}
