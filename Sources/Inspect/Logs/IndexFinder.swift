import EventLog
import JSON

/// Finds events through the index beside each log. Two threads must not use it at the same time.
package final class IndexFinder: EventFinder {
    private let indexes = LogIndexes(usesFiles: true)

    package init() {}

    package func events(
        in log: String, from first: UInt64, through last: UInt64, naming names: [SearchName],
        _ body: (LogScan.Event) throws -> Bool
    ) throws {
        guard first <= last else { return }
        guard !names.isEmpty else {
            return try LogScan().events(in: log, from: first, through: last, naming: names, body)
        }
        var failure: (any Error)?
        try indexes.index(of: log).find(names.map(\.key.hash), in: max(first, 1)...last) { event in
            do {
                return try event.withJSON { json in
                    try event.line.withUnsafeBytes { line in
                        try body(
                            LogScan.Event(
                                sequence: event.sequence, now: event.now, json: json, line: line, cursor: event.cursor))
                    }
                }
            } catch {
                failure = error
                return false
            }
        }
        if let failure { throw failure }
    }
}
