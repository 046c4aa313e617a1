import JSON

extension EventType {
    /// The type as a JSON Schema (draft 2020-12). It allows other members, which a later version may add.
    package var schema: String {
        let properties = entries.map { "\"\($0.member)\":\($0.schema)" }.joined(separator: ",")
        let required = entries.filter(\.isRequired).map { "\"\($0.member)\"" }.joined(separator: ",")
        return #"{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"\#(name)","#
            + #""description":"\#(summary)","type":"object","properties":{\#(properties)},"required":[\#(required)]}"#
    }
}

extension EventType.Entry {
    fileprivate var schema: String {
        var text = ByteBuffer()
        text.appendJSON(member.meaning ?? "")
        return "{\"description\":\(text.text),\(kind.schema)}"
    }
}

extension EventType.Kind {
    fileprivate var schema: String {
        switch self {
        case .text: #""type":"string""#
        case .words(let words): #""enum":[\#(words.map { "\"\($0)\"" }.joined(separator: ","))]"#
        case .sequence: #""type":"integer","minimum":1"#
        case .count: #""type":"integer","minimum":0"#
        case .flag: #""type":"boolean""#
        case .time: #""type":"string","format":"date-time""#
        case .object: #""type":"object""#
        case .list: #""type":"array""#
        }
    }

    /// The kind in words.
    var text: String {
        switch self {
        case .text: "text"
        case .words(let words): words.map { "`\($0)`" }.joined(separator: ", ")
        case .sequence: "number, from 1"
        case .count: "number, from 0"
        case .flag: "`true` or `false`"
        case .time: "time (RFC 3339)"
        case .object: "object"
        case .list: "list"
        }
    }
}

extension EventType {
    /// The manual's reference page of all events.
    package static var reference: String {
        """
        # Events

        Every event of every log with its members. This page is generated from the target `Events`, and a test compares
        them.

        Each line of a log is one JSON object. Members may come in any order. A stage passes on events that it does not
        know.

        """ + all.map(\.section).joined()
    }

    private var section: String {
        let rows = entries.map { entry in
            "| `\(entry.member)` | \(entry.kind.text) | \(entry.isRequired ? "always" : "optional") "
                + "| \(entry.since) | \(entry.member.meaning ?? "") |\n"
        }
        return """

            ## \(name)

            \(summary) Written to \(log.map { "the log `\($0.rawValue)`" } ?? "a dead-letter log").

            | Member | Value | Present | Since | Meaning |
            |---|---|---|---|---|

            """ + rows.joined()
    }
}
