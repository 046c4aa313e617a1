import EventLog
import Events
import JSON
import Predicates

/// An input of a case: an event of the changes log, to be sent again.
struct CaseLine {
    let event: LoggedEvent
    /// Whether it keeps what ingest found out, which a case without the record's past needs.
    var keepsDerived = false

    private static let derived: Set<String> = ["change", "before", "recordType"]

    /// With all that ingest found out.
    var whole: CaseLine { CaseLine(event: event, keepsDerived: true) }

    /// The command, with the time at which it was taken.
    ///
    /// - Parameter disguise: Gives the texts that stand for others.
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

    /// Whether it saves a subscription that searches for words. A predicate that does not read searches for nothing.
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
