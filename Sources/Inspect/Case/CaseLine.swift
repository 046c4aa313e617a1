import EventLog
import Events
import JSON
import Predicates

/// An input of a case: an event of the changes log, to be sent again.
struct CaseLine {
    let event: LoggedEvent
    /// Whether the command keeps the members that ingest added. A case without the record's earlier changes needs them.
    var keepsDerived = false

    private static let derived: Set<String> = ["change", "before", "recordType"]

    /// The same input, with the members that ingest added.
    var keepingDerived: CaseLine { CaseLine(event: event, keepsDerived: true) }

    /// The ingest command, with the recorded time.
    func command(_ disguise: Disguise = Disguise()) throws -> String {
        try event.withJSON { json in
            var buffer = ByteBuffer(capacity: event.line.count + 64)
            CommandText(disguise: disguise).write(
                json, leavingOut: keepsDerived ? [] : CaseLine.derived, into: &buffer)
            buffer.truncate(to: buffer.count - 1)
            buffer.append(",\"time\":\"")
            buffer.append(raw: event.now.rfc3339)
            buffer.append("\"}")
            return buffer.text
        }
    }

    /// Whether the event saves a subscription whose predicate searches for words.
    func searchesWords() throws -> Bool {
        try event.withJSON { json in
            guard let query = json[.subscription]?[.query] else { return false }
            do throws(PredicateError) {
                return try PredicateReader(.extended).read(query: query).predicate.searchesWords
            } catch {
                return false
            }
        }
    }
}
