import EventLog
import TestSupport
import Testing

/// A log whose events have names, `{"k":"name",…}`, with a plain scan for comparison.
enum IndexedLog {
    static let limits = BlockLimits(events: 5, bytes: 600)

    static func scheme(version: Int = 1) -> KeyScheme {
        KeyScheme(name: "test", version: version) {
            { line, keys in keys.append(key(String(decoding: line.dropFirst(6).prefix { $0 != 0x22 }, as: UTF8.self))) }
        }
    }

    static func key(_ name: String) -> UInt64 {
        var hash = KeyHash(kind: 7)
        hash.absorb(name)
        return hash.value
    }

    static func event(_ name: String, padding: Int = 0) -> String {
        #"{"k":"\#(name)","p":"\#(String(repeating: "x", count: padding))"}"#
    }

    static func index(_ scratch: Scratch, usesFiles: Bool = true, version: Int = 1) throws -> LogIndex {
        let index = try LogIndex(
            directory: scratch.log, scheme: scheme(version: version), usesFiles: usesFiles, limits: limits)
        try index.update()
        return index
    }

    /// The paths of the index files of all segments.
    static func indexFiles(_ scratch: Scratch) throws -> [String] {
        try scratch.segments.map { path in
            let name = path.dropFirst(scratch.log.utf8.count + 1).dropLast(3)
            return scratch.log + "/index/\(name)index"
        }
    }

    /// Every event, read without the index.
    static func scan(_ scratch: Scratch) throws -> [LoggedEvent] {
        try EventLogReader.all(scratch.log).flatMap { batch in
            batch.events.enumerated().map { offset, line in
                LoggedEvent(
                    sequence: batch.first + UInt64(offset), now: batch.now, cursor: batch.cursor,
                    line: Array(line.utf8))
            }
        }
    }

    /// Expects that the index finds the same events as a scan, for every name and for a missing name.
    static func expectRight(_ index: LogIndex, _ events: [LoggedEvent], _ comment: Comment? = nil) throws {
        var names: [String: [LoggedEvent]] = ["nobody": []]
        for event in events { names[name(of: event), default: []].append(event) }
        for (name, expected) in names {
            #expect(try index.events(with: key(name)) == expected, comment)
        }
        #expect(index.lastSequence == events.last?.sequence ?? index.firstSequence - 1, comment)
    }

    static func name(of event: LoggedEvent) -> String {
        String(decoding: event.line.dropFirst(6).prefix { $0 != 0x22 }, as: UTF8.self)
    }
}
