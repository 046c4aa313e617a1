import JSON

extension EventType {
    /// The type as a JSON Schema (draft 2020-12). Members that are not named may come with a later version.
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
        text.append("{\"description\":")
        text.appendJSON(member.meaning ?? "")
        text.append(raw: ",\(kind.schema)}")
        return text.text
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

    /// In words, for a table.
    fileprivate var text: String {
        switch self {
        case .text: "text"
        case .words(let words): words.map { "`\($0)`" }.joined(separator: ", ")
        case .sequence: "number, from 1"
        case .count: "number, from 0"
        case .flag: "`true` or `false`"
        case .time: "moment (RFC 3339)"
        case .object: "object"
        case .list: "list"
        }
    }
}

extension EventType {
    /// The manual's page on all events.
    package static var reference: String {
        """
        # Events

        Every event of every log, and what it holds. Made from the target `Events`; a test compares.

        Each line of a log is one JSON object. Its members may be in any order. A stage passes an event of a type that it
        does not know to the next stage.

        """ + all.map(\.section).joined()
    }

    private var section: String {
        let rows = entries.map { entry in
            "| `\(entry.member)` | \(entry.kind.text) | \(entry.isRequired ? "always" : "where there is one") "
                + "| \(entry.since) | \(entry.member.meaning ?? "") |\n"
        }
        return """

            ## \(name)

            \(summary) It begins in the log `\(log?.rawValue ?? "dead letters")`.

            | Member | Value | Present | Since | Meaning |
            |---|---|---|---|---|

            """ + rows.joined()
    }
}
